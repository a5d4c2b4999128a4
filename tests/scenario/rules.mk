# rules.mk - builds the programs of the scenarios; the top-level Makefile includes it.
#
# Each is an ordinary CUDA program, linked against the toolkit's stub of the driver. Kernels are carried
# as PTX alone, which every GPU and the stand-in can run.

SCENARIO := $(BUILD)/tests/scenario
SCENARIO_C := $(filter-out tests/scenario/common/%,$(sort $(wildcard tests/scenario/*/program.c)))
SCENARIO_BIN := $(SCENARIO_C:%.c=$(BUILD)/%)
SCENARIO_FATBIN := $(patsubst %.cu,$(BUILD)/%.fatbin,$(sort $(wildcard tests/scenario/*/kernels.cu)))
SCENARIO_ALL := $(SCENARIO_BIN) $(SCENARIO_FATBIN) $(SCENARIO)/runtime/program $(SCENARIO)/injection/other.so $(SCENARIO)/steps/hook_tls_quiet/large.so \
    $(SCENARIO)/calls_local/inner.so $(SCENARIO)/vendor/libnccl.so.2.99 $(SCENARIO)/vendor/libplain.so $(PLUGINS) $(addprefix $(SCENARIO)/packed/,lines.fatbin other.fatbin) \
    $(SCENARIO)/catalogue/registry.yaml $(SCENARIO)/xla_fusions/registry.yaml \
    $(SCENARIO)/inductor_fused/registry.yaml
SCENARIO_COMMON_O := $(SCENARIO)/common/program.o

$(SCENARIO)/%.o: INCLUDES = -Itests/scenario
# The old launch functions are deprecated, and still there.
$(SCENARIO)/%.o: C_FLAGS += -Wno-deprecated-declarations

$(SCENARIO)/subscriber/program $(SCENARIO)/profiler/program: SCENARIO_LIBS = $(LIBCUPTI)
$(SCENARIO)/found/program: SCENARIO_LIBS = -ldl
$(SCENARIO)/calls/program $(SCENARIO)/calls_replays/program: SCENARIO_LIBS = -ldl -L$(SOFTGPU) -l:libcublas.so.13 -l:libcublasLt.so.13 -Wl,-rpath-link,$(SOFTGPU)
$(SCENARIO)/calls/program $(SCENARIO)/calls_replays/program: | $(SOFTBLAS_LIBS) $(SOFTNVML_LIBS)
$(SCENARIO)/dnn/program: SCENARIO_LIBS = -L$(SOFTGPU) -l:libcudnn.so.9 -Wl,-rpath-link,$(SOFTGPU)
$(SCENARIO)/dnn/program: | $(SOFTDNN_LIBS)
# Its write takes the place of libc's for the libraries, too.
$(SCENARIO)/interrupted/program: SCENARIO_LIBS = -rdynamic
$(SCENARIO_BIN): %: %.o $(SCENARIO_COMMON_O)
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) $(LDFLAGS) -o $@ $^ $(LINK_CUDA) $(SCENARIO_LIBS) -lpthread

# As nvcc builds it: kernels inside, on the shared runtime.
$(SCENARIO)/runtime/program: tests/scenario/runtime/program.cu $(SOFTRUNTIME_LIBS)
	$(call say,NVCC,$@)
	$(quiet)mkdir -p $(@D) && $(NVCC) -std=c++17 -O2 -cudart none \
	    -gencode arch=compute_$(CUVET_PTX),code=compute_$(CUVET_PTX) -o $@ $< \
	    -L$(SOFTGPU) -l:libcudart.so.13 -Xlinker -rpath-link=$(SOFTGPU)

$(SCENARIO)/calls_local/inner.so: $(SCENARIO)/calls_local/inner.o $(SOFTBLAS_LIBS)
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) -shared -o $@ $< -L$(SOFTGPU) -l:libcublas.so.13 -Wl,-rpath-link,$(SOFTGPU)

# One library under a name of NVIDIA's, and under another.
$(SCENARIO)/vendor/program: SCENARIO_LIBS = -ldl
$(SCENARIO)/vendor/libnccl.so.2.99 $(SCENARIO)/vendor/libplain.so: $(SCENARIO)/vendor/inner.o
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) -shared -o $@ $< $(LINK_CUDA)

$(SCENARIO)/injection/other.so $(SCENARIO)/steps/hook_tls_quiet/large.so: %.so: %.o
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) -shared -o $@ $<

# This one is made of the references themselves: their list gives kernels and registry, their host build
# the right answers.
CATALOGUE := $(SCENARIO)/catalogue
CATALOGUE_O := $(GEN)/ref_list.o \
    $(addprefix $(BUILD)/shim/,lang/formals.o lang/formals_cursor.o lang/dtype.o \
    base/error.o text/nearest.o text/printable.o text/utf8.o)
$(CATALOGUE)/%.o: INCLUDES = -Itests/scenario -I. -Ishim -Irefs/abi -I$(GEN)
$(CATALOGUE)/program: $(CATALOGUE_O) $(HOST_REFS_O)
$(CATALOGUE)/program: SCENARIO_LIBS = -lm
$(CATALOGUE)/registry: $(CATALOGUE)/registry.o $(CATALOGUE_O)
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) $(LDFLAGS) -o $@ $^ -lm
$(CATALOGUE)/registry.yaml $(CATALOGUE)/kernels.inc: $(CATALOGUE)/registry
	$(quiet)$< $(subst .,,$(suffix $@)) > $@
$(CATALOGUE)/kernels.fatbin: $(CATALOGUE)/kernels.inc tests/scenario/catalogue/job.h

# Made of what XLA dumps, as a user makes it.
$(SCENARIO)/xla_fusions/registry.yaml: $(BUILD)/cuvet $(wildcard tests/scenario/xla_fusions/hlo/*)
	$(quiet)mkdir -p $(@D) && $< xla -o $@ tests/scenario/xla_fusions/hlo > /dev/null

# And of a file that Inductor generates.
$(SCENARIO)/inductor_fused/registry.yaml: $(BUILD)/cuvet $(wildcard tests/scenario/inductor_fused/generated/*/*.py)
	$(quiet)mkdir -p $(@D) && $< inductor -o $@ tests/scenario/inductor_fused/generated > /dev/null

$(SCENARIO_FATBIN): $(BUILD)/%.fatbin: %.cu tests/scenario/common/kernels.cuh | $(READY)
	$(call say,NVCC,$@)
	$(quiet)mkdir -p $(@D) && $(NVCC) -fatbin -std=c++17 -O3 -Itests/scenario/common -I$(@D) \
	    -gencode arch=compute_$(CUVET_PTX),code=compute_$(CUVET_PTX) -o $@ $<

# Beside the PTX for all devices, machine code that carries its own PTX, and such without.
$(SCENARIO)/packed/lines.fatbin: PACKED_WITH = -lineinfo
$(addprefix $(SCENARIO)/packed/,lines.fatbin other.fatbin): tests/scenario/packed/kernels.cu | $(READY)
	$(call say,NVCC,$@)
	$(quiet)mkdir -p $(@D) && $(NVCC) -fatbin -std=c++17 -O3 $(PACKED_WITH) -gencode arch=compute_90,code=sm_90 \
	    -gencode arch=compute_$(CUVET_PTX),code=compute_$(CUVET_PTX) -o $@ $<

.PHONY: scenario scenario-programs sweep
scenario-programs: $(SCENARIO_ALL)

## scenario: programs under cuvet on the stand-in for a GPU (TESTS="word ..." picks)
scenario: all softgpu $(SCENARIO_ALL)
	$(quiet)CUVET_BUILD=$(BUILD) VARIANT=$(VARIANT) tests/scenario/run.sh $(TESTS)

## sweep: the same with the Nth driver call of cuvet failing, for every N
sweep: all softgpu $(SCENARIO_ALL)
	$(quiet)CUVET_BUILD=$(BUILD) VARIANT=$(VARIANT) SWEEP_LONG=1 tests/scenario/sweep.sh $(TESTS)

-include $(wildcard $(SCENARIO)/*/*.d)
