# toolkit.mk - where the CUDA toolkit in the folder CUDA has its libraries: STUBS to link with, CUPTI_LIBS.

# The last is Debian's.
CUDA_LIBS := $(CUDA)/lib64 $(CUDA)/targets/x86_64-linux/lib $(CUDA)/targets/sbsa-linux/lib \
    $(CUDA)/lib/$(shell $(CC) -print-multiarch 2>/dev/null)
STUBS := $(firstword $(wildcard $(CUDA_LIBS:=/stubs)))
CUPTI_LIBS := $(firstword $(wildcard $(addsuffix /libcupti.so,$(CUDA_LIBS) $(CUDA)/extras/CUPTI/lib64)))
