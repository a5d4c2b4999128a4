#include "tools/discover/search/words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WORD = 32 };

/* Other names of a formal or dim, in lower case, between blanks. */
static const struct {
    const char *formal, *names;
} table[] = {
    {"x", " input inp in src "},
    {"y", " output out o dst result "},
    {"w", " weight weights gamma scale "},
    {"b", " bias beta "},
    {"q", " query "},
    {"k", " key "},
    {"v", " value "},
    {"c", " out output "},
    {"rows", " m n_rows nrows num_rows "},
    {"cols", " n n_cols ncols num_cols hidden hidden_size "},
    {"n", " n_elements numel count size total length xnumel "},
    {"m", " rows n_rows "},
    {"batch", " z bs bsz batch_size "},
    {"heads", " h nh n_heads nheads num_heads n_head num_q_heads "},
    {"kv_heads", " h_kv hkv n_kv_heads num_kv_heads n_head_kv "},
    {"queries", " n_ctx seqlen seq_len seqlen_q q_len "},
    {"keys", " n_ctx seqlen seq_len seqlen_k kv_len k_len "},
    {"dim", " d head_dim headdim d_head head_size "},
    {"width", " d dim head_dim headdim d_head head_size "},
    {"scale", " sm_scale softmax_scale qk_scale "},
    {"eps", " epsilon "},
};

/* In lower case, without "_ptr" at its end; "": it is too long. */
static void plain(const char *name, char out[WORD])
{
    static const char end[] = "_ptr";
    size_t length = strlen(name);
    if (length >= sizeof end && !strcasecmp(name + length - (sizeof end - 1), end))
        length -= sizeof end - 1;
    if (length >= WORD)
        length = 0;
    for (size_t i = 0; i < length; i++)
        out[i] = (char)tolower((unsigned char)name[i]);
    out[length] = '\0';
}

bool words_mean(const char *name, const char *formal)
{
    char word[WORD], among[WORD + 2];
    plain(name, word);
    if (!*word || !strcmp(word, formal))
        return *word != '\0';
    snprintf(among, sizeof among, " %s ", word);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!strcmp(table[i].formal, formal) && strstr(table[i].names, among))
            return true;
    }
    return false;
}

bool words_distance(const char *name)
{
    char word[WORD];
    plain(name, word);
    return strstr(word, "stride") || strstr(word, "pitch") ||
           (!strncmp(word, "ld", 2) && strlen(word) <= 3);
}
