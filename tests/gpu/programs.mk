# programs.mk - how the programs of the GPU tests are compiled: one .cu or .c each, name = case.
#
#   make -f tests/gpu/programs.mk OUT=build/release/tests/gpu [NVCC=nvcc] [GPU_ARCH=sm_90]
#
# The programs have no link to cuvet. The exceptions are flips, which counts findings by cuvet.h, ref_parity and
# ref_approx, which are made of the references themselves and so compile parts of the tree.

HERE := $(dir $(lastword $(MAKEFILE_LIST)))
OUT ?= build/release/tests/gpu
NVCC ?= nvcc
GPU_ARCH ?= sm_90
CUDA ?= $(patsubst %/bin/nvcc,%,$(realpath $(shell command -v $(NVCC))))
include $(HERE)../../tools/dev/toolkit.mk
C_FLAGS := -std=c11 -O2 -Wall -Wextra -I$(CUDA)/include

CU := controls ending forks fuzz_target module_values outliers simple static_cudart subsets threads16 touched two_gpus
SCENARIOS := edited outlier replayed variables
PLAIN_SCENARIOS := images # without kernels of their own
PROGRAMS := $(addprefix $(OUT)/,$(CU) $(SCENARIOS) $(PLAIN_SCENARIOS) $(addsuffix _kernels.fatbin,$(SCENARIOS)) driver_api driver_kernels.fatbin flips \
    lt_names lt_tail other_injection.so ref_approx ref_parity replayed_kernels.ptx)

.PHONY: programs
programs: $(PROGRAMS)

$(addprefix $(OUT)/,$(CU)): $(OUT)/%: $(HERE)programs/%.cu $(HERE)programs/kernels.cuh $(HERE)programs/common.cuh
	@mkdir -p $(OUT)
	$(NVCC) -O2 -std=c++17 -arch=$(GPU_ARCH) -Xcompiler -pthread -o $@ $<

$(OUT)/driver_kernels.fatbin: $(HERE)driver/driver_kernels.cu $(HERE)programs/kernels.cuh $(HERE)programs/common.cuh
	@mkdir -p $(OUT)
	$(NVCC) -O2 -std=c++17 -arch=$(GPU_ARCH) -fatbin -o $@ $<

$(OUT)/lt_tail: $(HERE)library/lt_tail.c
	@mkdir -p $(OUT)
	$(CC) $(C_FLAGS) -o $@ $< $(addprefix -L,$(wildcard $(CUDA_LIBS))) -lcublasLt -lcudart

# The library stands between the program and cuBLAS, in the order of the linker's line.
$(OUT)/libflipping.so: $(HERE)library/flipping.c $(HERE)library/flips.h
	@mkdir -p $(OUT)
	$(CC) $(C_FLAGS) -shared -fPIC -o $@ $< -Wl,--no-as-needed $(addprefix -L,$(wildcard $(CUDA_LIBS))) -lcublas -ldl

$(OUT)/flips: $(HERE)library/flips.c $(HERE)library/flips.h $(OUT)/libflipping.so
	@mkdir -p $(OUT)
	$(CC) $(C_FLAGS) -I$(HERE)../../shim -o $@ $< -Wl,--no-as-needed -L$(OUT) -lflipping -Wl,-rpath,'$$ORIGIN' \
	    $(addprefix -L,$(wildcard $(CUDA_LIBS))) -lcublas $(LINK_CUDA)

$(OUT)/lt_names: $(HERE)library/lt_names.c
	@mkdir -p $(OUT)
	$(CC) $(C_FLAGS) -o $@ $< $(addprefix -L,$(wildcard $(CUDA_LIBS))) -lcublasLt $(LINK_CUDA)

$(OUT)/driver_api.o: $(HERE)driver/driver_api.c $(HERE)driver/driver_api_ptds.h
	@mkdir -p $(OUT)
	$(CC) $(C_FLAGS) -c -o $@ $<

$(OUT)/driver_api_ptds.o: $(HERE)driver/driver_api_ptds.c $(HERE)driver/driver_api_ptds.h
	@mkdir -p $(OUT)
	$(CC) $(C_FLAGS) -DCUDA_API_PER_THREAD_DEFAULT_STREAM -c -o $@ $<

$(OUT)/driver_api: $(OUT)/driver_api.o $(OUT)/driver_api_ptds.o
	$(CC) -o $@ $^ $(LINK_CUDA)

# Programs of the scenarios, with machine code; and the PTX of the kernels of one.
SCENARIO := $(HERE)../scenario/
$(addprefix $(OUT)/,$(SCENARIOS) $(PLAIN_SCENARIOS)): $(OUT)/%: $(SCENARIO)%/program.c $(SCENARIO)common/program.c
	@mkdir -p $(OUT)
	$(CC) $(C_FLAGS) -D_GNU_SOURCE -I$(SCENARIO) -o $@ $^ -lm $(LINK_CUDA)
$(patsubst %,$(OUT)/%_kernels.fatbin,$(SCENARIOS)): $(OUT)/%_kernels.fatbin: $(SCENARIO)%/kernels.cu
	@mkdir -p $(OUT)
	$(NVCC) -O2 -std=c++17 -I$(SCENARIO)common -arch=$(GPU_ARCH) -fatbin -o $@ $<
$(OUT)/replayed_kernels.ptx: $(SCENARIO)replayed/kernels.cu
	@mkdir -p $(OUT)
	$(NVCC) -O2 -std=c++17 -I$(SCENARIO)common -arch=compute_75 -ptx -o $@ $<

$(OUT)/other_injection.so: $(HERE)driver/other_injection.c
	@mkdir -p $(OUT)
	$(CC) $(C_FLAGS) -shared -fPIC -o $@ $<

# The references on the host, and what refgen writes of them: nothing of a build folder is used, for
# that may hold no more than the library and its fatbins.
ROOT := $(HERE)../../
GEN := $(OUT)/gen
REF_HEADERS := $(wildcard $(ROOT)refs/*.h $(ROOT)refs/*/*.h $(ROOT)shim/lang/formals*.h)
REFS_CU := $(sort $(wildcard $(ROOT)refs/*/*.cu))
ERROR_C := shim/base/error.c shim/text/printable.c shim/text/utf8.c
REFGEN_C := $(addprefix $(ROOT),tools/dev/refgen.c \
    shim/lang/ref_text.c shim/lang/formals.c \
    shim/lang/formals_cursor.c $(ERROR_C))
OUR_INCLUDES := -I$(ROOT) -I$(ROOT)shim $(addprefix -I$(ROOT)refs,/ /dialect /abi) -I$(GEN)
OUR_C_FLAGS := -std=c11 -D_GNU_SOURCE -O2 $(OUR_INCLUDES)
PARITY_O := $(addprefix $(OUT)/,ref_host.o ref_list.o formals.o formals_cursor.o error.o printable.o utf8.o)

$(OUT)/refgen: $(REFGEN_C) $(REF_HEADERS)
	@mkdir -p $(OUT)
	$(CC) $(OUR_C_FLAGS) -o $@ $(REFGEN_C) -lm

$(GEN)/.refgen: $(OUT)/refgen $(REFS_CU)
	@mkdir -p $(GEN)
	$(OUT)/refgen $(GEN) $(REFS_CU)
	@touch $@

$(OUT)/ref_host.o: $(ROOT)refs/abi/ref_host.cpp $(GEN)/.refgen $(REF_HEADERS)
	$(CXX) -std=c++17 -D_GNU_SOURCE -O2 -ffp-contract=off $(OUR_INCLUDES) -c -o $@ $<

$(OUT)/ref_list.o: $(GEN)/.refgen $(REF_HEADERS)
	$(CC) $(OUR_C_FLAGS) -c -o $@ $(GEN)/ref_list.c

$(OUT)/formals.o $(OUT)/formals_cursor.o: $(OUT)/%.o: $(ROOT)shim/lang/%.c $(REF_HEADERS)
	@mkdir -p $(OUT)
	$(CC) $(OUR_C_FLAGS) -c -o $@ $<

$(OUT)/error.o: $(ROOT)shim/base/error.c
	@mkdir -p $(OUT)
	$(CC) $(OUR_C_FLAGS) -c -o $@ $<

$(OUT)/printable.o $(OUT)/utf8.o: $(OUT)/%.o: $(ROOT)shim/text/%.c
	@mkdir -p $(OUT)
	$(CC) $(OUR_C_FLAGS) -c -o $@ $<

$(OUT)/ref_parity: $(HERE)reference/ref_parity.cu $(HERE)reference/ref_problem.cuh $(HERE)programs/common.cuh $(PARITY_O)
	$(NVCC) -O2 -std=c++17 -arch=$(GPU_ARCH) $(OUR_INCLUDES) -o $@ $< $(PARITY_O) \
	    $(LINK_CUDA)

$(OUT)/ref_approx: $(HERE)reference/ref_approx.cu $(HERE)programs/common.cuh $(REF_HEADERS)
	@mkdir -p $(OUT)
	$(NVCC) -O2 -std=c++17 -arch=$(GPU_ARCH) $(OUR_INCLUDES) -o $@ $<
