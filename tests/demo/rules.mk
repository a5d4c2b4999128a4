# rules.mk - builds and runs the demo; the top-level Makefile includes it.

DEMO := $(BUILD)/tests/demo/demo
HAS_GPU := $(BUILD)/tests/demo/has_gpu
DEMO_KERNELS := $(BUILD)/tests/demo/kernels.fatbin

.PHONY: demo
## demo: run four kernels, one of them wrong, under cuvet: on the GPU, or without one on softgpu
demo: all $(DEMO) $(DEMO_KERNELS) $(HAS_GPU)
	$(quiet)if $(HAS_GPU); then echo 'demo: on the GPU of this machine'; else \
	    $(MAKE) --no-print-directory softgpu && echo 'demo: no GPU here, so the kernels run' \
	    'on softgpu, which interprets their PTX on the CPU' && \
	    export CUVET_EXIT_WAIT=60000 \
	    LD_LIBRARY_PATH=$(abspath $(SOFTGPU)):$$LD_LIBRARY_PATH; fi && \
	    $(TOOL) run -c tests/demo/demo.yaml -- $(DEMO)

# The demo is a program like any other: it is built without a word of ours.
$(DEMO): tests/demo/demo.c | $(READY)
	$(call say,CC,$@)
	$(quiet)mkdir -p $(@D) && $(CC) -std=c11 -D_GNU_SOURCE $(C_WARNINGS) -O2 -g $(CUDA_INCLUDES) -o $@ $< -ldl -lm

$(HAS_GPU): tests/demo/has_gpu.c | $(READY)
	$(call say,CC,$@)
	$(quiet)mkdir -p $(@D) && $(CC) -std=c11 -D_GNU_SOURCE $(C_WARNINGS) -O2 $(CUDA_INCLUDES) -o $@ $< -ldl

$(DEMO_KERNELS): tests/demo/kernels.cu $(GEN)/gencode
	$(call say,NVCC,$@)
	$(quiet)mkdir -p $(@D) && $(NVCC) -fatbin -std=c++17 -O3 $(GENCODE) -o $@ $<
