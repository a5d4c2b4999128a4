# toolkit.mk - how to link with the toolkit in the folder CUDA: LINK_CUDA, for a program that calls the driver, and
# LIBCUPTI, the file.

# The last folder is Debian's. A toolkit without stubs leaves libcuda.so to the linker's own search.
CUDA_LIBS := $(CUDA)/lib64 $(CUDA)/targets/x86_64-linux/lib $(CUDA)/targets/sbsa-linux/lib \
    $(CUDA)/lib/$(shell $(CC) -print-multiarch 2>/dev/null)
LINK_CUDA := $(addprefix -L,$(firstword $(wildcard $(CUDA_LIBS:=/stubs)))) -lcuda
LIBCUPTI := $(firstword $(wildcard $(addsuffix /libcupti.so,$(CUDA_LIBS) $(CUDA)/extras/CUPTI/lib64)))
