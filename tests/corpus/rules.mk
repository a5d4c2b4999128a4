# rules.mk - builds the corpus; the top-level Makefile includes it.

CORPUS := $(BUILD)/tests/corpus
CORPUS_C := $(sort $(wildcard tests/corpus/*.c))
CORPUS_O := $(call objects,$(CORPUS_C))
CORPUS_FILES := $(CORPUS)/corpus $(CORPUS)/corpus.fatbin $(CORPUS)/registry.yaml $(CORPUS)/kernels



$(CORPUS)/corpus: $(CORPUS_O) $(CORE) $(HOST_REFS_O)
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) $(LDFLAGS) -o $@ $(CORPUS_O) $(HOST_REFS_O) $(CORE) $(STATIC_LIBS) \
	    $(LINK_CUDA) $(SYSTEM_LIBS)

$(CORPUS)/registry.yaml: $(CORPUS)/corpus $(SOFTGPU)/libcuda.so.1
	$(quiet)LD_LIBRARY_PATH=$(SOFTGPU) $< registry > $@.new && mv $@.new $@
$(CORPUS)/kernels: $(CORPUS)/corpus $(SOFTGPU)/libcuda.so.1
	$(quiet)LD_LIBRARY_PATH=$(SOFTGPU) $< kernels > $@.new && mv $@.new $@

# PTX alone, which softgpu runs: machine code of 413 kernels is only for a machine that has a GPU.
CORPUS_GENCODE = $(if $(wildcard /dev/nvidiactl),$(GENCODE),-Xfatbin=-compress-all \
    -gencode arch=compute_$(CUVET_PTX),code=compute_$(CUVET_PTX))
$(CORPUS)/corpus.fatbin: tests/corpus/kernels/corpus.cu tests/corpus/entries.def $(GEN)/gencode
	$(call say,NVCC,$@)
	$(quiet)mkdir -p $(@D) && $(NVCC) -fatbin -std=c++17 -O3 $(CORPUS_GENCODE) -MMD -MP -MF $@.d -MT $@ -o $@ $<

# For `cuvet lift`: PTX with the lines that each instruction comes from.
LIFT_FILES := $(CORPUS)/corpus.ptx $(BUILD)/tests/lift/orders.ptx $(BUILD)/tests/lift/tensor.ptx
define lift_ptx
	$(call say,NVCC,$@)
	$(quiet)mkdir -p $(@D) && $(NVCC) -ptx -lineinfo -std=c++17 -O3 -arch=compute_80 -MMD -MP -MF $@.d -MT $@ -o $@ $<
endef
$(CORPUS)/corpus.ptx: tests/corpus/kernels/corpus.cu | $(READY)
	$(lift_ptx)
$(BUILD)/tests/lift/%.ptx: tests/lift/%.cu | $(READY)
	$(lift_ptx)
# The same as machine code, with its PTX inside, which a driver loads without compiling 413 kernels.
LIFT_ARCH := sm_90
$(CORPUS)/corpus.cubin: tests/corpus/kernels/corpus.cu | $(READY)
	$(call say,NVCC,$@)
	$(quiet)mkdir -p $(@D) && $(NVCC) -cubin -lineinfo -std=c++17 -O3 -arch=$(LIFT_ARCH) -o $@ $<

.PHONY: corpus corpus-programs
corpus-programs: $(CORPUS_FILES) $(HAS_GPU) $(patsubst %,$(BUILD)/tests/scenario/%/kernels.fatbin,probed pairs picked)

## corpus: right and wrong kernels under cuvet, and the verdicts of four oracles (on a GPU or softgpu)
corpus: all softgpu $(CORPUS_FILES) $(HAS_GPU)
	$(quiet)CUVET_BUILD=$(BUILD) VARIANT=$(VARIANT) tests/corpus/run.sh $(CORPUS_SETTINGS)

-include $(CORPUS_O:.o=.d) $(CORPUS)/corpus.fatbin.d $(LIFT_FILES:=.d)
