# programs.mk - how the programs of the benchmarks are compiled.
#
#   make -f tests/bench/programs.mk OUT=build/release/tests/bench [NVCC=nvcc] [GPU_ARCH=sm_90]

HERE := $(dir $(lastword $(MAKEFILE_LIST)))
OUT ?= build/release/tests/bench
NVCC ?= nvcc
GPU_ARCH ?= sm_90
CUDA ?= $(patsubst %/bin/nvcc,%,$(realpath $(shell command -v $(NVCC))))
include $(HERE)../../tools/dev/toolkit.mk
NVCC_FLAGS := -O2 -std=c++17 -arch=$(GPU_ARCH) -I$(HERE)../.. -I$(HERE)../../shim

.PHONY: programs
programs: $(addprefix $(OUT)/,graph_cost start_cost host_cost copy_cost outlier_cost project_cost ref_cost empty_subscriber.so toggle_cupti.so)

$(OUT)/%: $(HERE)%.cu $(HERE)measure.cuh $(HERE)read_once.cuh $(HERE)../../shim/device/snapshot_abi.h \
    $(HERE)../../shim/device/outlier_abi.h $(HERE)../../shim/device/project_abi.h \
    $(HERE)../../refs/abi/ref_product.h $(HERE)../../refs/abi/ref_abi.h $(HERE)../../refs/abi/ref_batch.h
	@mkdir -p $(OUT)
	$(NVCC) $(NVCC_FLAGS) -o $@ $< $(LINK_CUDA)

# With stamps, so it compiles the outlier kernels once more.
$(OUT)/outlier_cost: $(HERE)outlier/outlier_cost.cu $(HERE)measure.cuh $(HERE)outlier/outlier_phases.cu $(HERE)outlier/outlier_phases.cuh \
    $(wildcard $(HERE)../../shim/device/*) $(HERE)../../refs/abi/ref_abi.h
	@mkdir -p $(OUT)
	$(NVCC) $(NVCC_FLAGS) -o $@ $(HERE)outlier/outlier_cost.cu $(HERE)outlier/outlier_phases.cu $(LINK_CUDA)

$(OUT)/start_cost: $(HERE)start_cost.c
	@mkdir -p $(OUT)
	$(CC) -O2 -Wall -Wextra -I$(CUDA)/include -o $@ $< $(LINK_CUDA)

$(OUT)/%.so: $(HERE)%.c
	@mkdir -p $(OUT)
	$(CC) -O2 -Wall -Wextra -shared -fPIC -I$(CUDA)/include -I$(CUDA)/extras/CUPTI/include \
	    -DCUPTI_PATH='"$(LIBCUPTI)"' -o $@ $< -ldl
