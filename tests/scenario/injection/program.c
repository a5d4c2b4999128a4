/* program.c - a program that another tool watches. */
#include "common/program.h"

int main(int argc, char **argv)
{
    start(argc, argv);
    struct norm norm = norm_new(4, 64, 1);
    for (int i = 0; i < 3; i++)
        norm_launch("norm_right", &norm, NULL);
    norm_print("norm", &norm);
    finish();
    return 0;
}
