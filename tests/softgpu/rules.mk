# rules.mk - builds the stand-ins for libcuda and libcupti; the top-level Makefile includes it.

SOFTGPU := $(BUILD)/softgpu
SOFTGPU_GEN := $(GEN)/softgpu
SOFTGPU_LIBS := $(SOFTGPU)/libcuda.so.1 $(SOFTGPU)/libcupti.so.13 $(SOFTGPU)/libcupti.so.12

SOFTGPU_EXEC_C := $(sort $(wildcard tests/softgpu/exec/*/*.c tools/ptx/*.c tools/ptx/*/*.c)) \
    shim/base/error.c shim/text/printable.c shim/text/utf8.c
SOFTGPU_DRIVER_C := $(sort $(wildcard tests/softgpu/driver/*/*.c)) shim/image/carried_text.c
SOFTGPU_CUPTI_C := $(sort $(wildcard tests/softgpu/cupti/*.c))
SOFTGPU_DEF := $(sort $(wildcard tests/softgpu/driver/*/*.def))
SOFTGPU_EXEC_O := $(call objects,$(SOFTGPU_EXEC_C))
SOFTGPU_DRIVER_O := $(call objects,$(SOFTGPU_DRIVER_C)) $(SOFTGPU_GEN)/entries.o
SOFTGPU_CUPTI_O := $(call objects,$(SOFTGPU_CUPTI_C))
CBID_HEADER := $(firstword $(wildcard $(addsuffix /cupti_driver_cbid.h,$(CUPTI_INCLUDE) $(CUDA_INCLUDE))))
META_HEADER := $(firstword $(wildcard $(addsuffix /generated_cuda_meta.h,$(CUPTI_INCLUDE) $(CUDA_INCLUDE))))

$(BUILD)/tests/softgpu/%.o $(SOFTGPU_GEN)/%.o: INCLUDES += -Itests/softgpu -Itools -I$(SOFTGPU_GEN)
$(BUILD)/tools/ptx/%.o: INCLUDES += -Itools
$(BUILD)/tests/softgpu/driver/%.o $(SOFTGPU_GEN)/%.o: C_FLAGS += -D__CUDA_API_VERSION_INTERNAL
# Coverage is of what the stand-ins serve, not of them.
ifeq ($(VARIANT),cover)
$(BUILD)/tests/softgpu/%.o $(BUILD)/tools/ptx/%.o $(SOFTGPU_GEN)/%.o: C_FLAGS += -O2 \
    -fno-profile-arcs -fno-test-coverage
endif
# The interpreter is what a test waits for.
$(BUILD)/tests/softgpu/exec/%.o: C_FLAGS += $(if $(filter release cover,$(VARIANT)),-O3) -ffp-contract=off \
    -fno-math-errno -fno-trapping-math -fno-strict-aliasing

$(SOFTGPU_GEN)/entries.c: tests/softgpu/driver/gen-entries $(SOFTGPU_DEF) | $(READY)
	$(call say,GEN,$@)
	$(quiet)mkdir -p $(@D) && LC_ALL=C tests/softgpu/driver/gen-entries $(META_HEADER) $(CBID_HEADER) \
	    $@ $(SOFTGPU_GEN)/impls.h $(SOFTGPU_DEF)
$(SOFTGPU_GEN)/tables.h: tests/softgpu/driver/gen-tables | $(READY)
	$(call say,GEN,$@)
	$(quiet)mkdir -p $(@D) && LC_ALL=C tests/softgpu/driver/gen-tables $(CUDA_INCLUDE)/cuda.h \
	    $(CUDA_INCLUDE)/cudaTypedefs.h $(CBID_HEADER) $@
$(SOFTGPU_GEN)/entries.o: $(SOFTGPU_GEN)/entries.c
	$(call say,CC,$<)
	$(quiet)$(CC) $(filter-out -Wmissing-prototypes,$(C_FLAGS)) $(CFLAGS) $(DEPENDENCIES) -c -o $@ $<
$(call objects,$(SOFTGPU_DRIVER_C)): $(SOFTGPU_GEN)/entries.c $(SOFTGPU_GEN)/tables.h

# Names of callbacks and results, from the headers.
$(SOFTGPU_GEN)/cupti_names.inc: tests/softgpu/cupti/gen-names $(CBID_HEADER) | $(READY)
	$(call say,GEN,$@)
	$(quiet)mkdir -p $(@D) && LC_ALL=C tests/softgpu/cupti/gen-names $(CBID_HEADER) \
	    $(CBID_HEADER:driver_cbid.h=runtime_cbid.h) $(CBID_HEADER:driver_cbid.h=result.h) $@
$(call objects,tests/softgpu/cupti/names.c): $(SOFTGPU_GEN)/cupti_names.inc
$(call objects,tests/softgpu/cupti/names.c): INCLUDES += -I$(SOFTGPU_GEN)

$(SOFTGPU_DRIVER_O): | $(BUILD)/.ready-softgpu
$(BUILD)/.ready-softgpu: tools/dev/check-deps | $(READY)
	$(quiet)CC='$(CC)' tools/dev/check-deps softgpu
	$(quiet)touch $@

# Never unloaded: threads of streams run its code.
SOFTGPU_SO_FLAGS = -shared -Wl,-z,now,-z,nodelete $(if $(filter san tsan,$(VARIANT)),,-Wl,-z,defs)
$(SOFTGPU)/libcuda.so.1: $(SOFTGPU_DRIVER_O) $(SOFTGPU_EXEC_O)
	$(call say,LINK,$@)
	$(quiet)mkdir -p $(@D) && $(CC) $(OPTIMISE) $(SOFTGPU_SO_FLAGS) -Wl,-soname,libcuda.so.1 $(LDFLAGS) \
	    -o $@ $^ -lzstd -llz4 $(SYSTEM_LIBS)
$(SOFTGPU)/libcupti.so.13: $(SOFTGPU_CUPTI_O)
	$(call say,LINK,$@)
	$(quiet)mkdir -p $(@D) && $(CC) $(OPTIMISE) $(SOFTGPU_SO_FLAGS) -Wl,-soname,libcupti.so.13 $(LDFLAGS) \
	    -o $@ $^ $(SYSTEM_LIBS)
$(SOFTGPU)/libcupti.so.12: $(SOFTGPU)/libcupti.so.13
	$(quiet)ln -sf libcupti.so.13 $@

# Stand-ins for cuBLAS: see tests/softgpu/blas/README.md. The nested call is not bound inside its own library.
SOFTBLAS := $(BUILD)/tests/softgpu/blas
SOFTBLAS_LIBS := $(SOFTGPU)/libcublas.so.13 $(SOFTGPU)/libcublasLt.so.13
$(SOFTBLAS)/kernels.fatbin: tests/softgpu/blas/kernels.cu tests/softgpu/blas/job.h | $(READY)
	$(call say,NVCC,$@)
	$(quiet)mkdir -p $(@D) && $(NVCC) -fatbin -std=c++17 -O3 \
	    -gencode arch=compute_$(CUVET_PTX),code=compute_$(CUVET_PTX) -o $@ $<
$(SOFTBLAS)/kernels.S: $(SOFTBLAS)/kernels.fatbin tools/dev/embed
	$(quiet)tools/dev/embed $< softblas_fatbin softblas_fatbin_size > $@
$(SOFTBLAS)/kernels.o: $(SOFTBLAS)/kernels.S
	$(quiet)$(CC) -c -o $@ $<
$(SOFTGPU)/libcublasLt.so.13: $(SOFTBLAS)/lt.o $(SOFTBLAS)/kernels.o $(SOFTGPU)/libcuda.so.1
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) -shared -Wl,-soname,libcublasLt.so.13 $(LDFLAGS) -o $@ \
	    $(filter %.o,$^) -L$(SOFTGPU) -l:libcuda.so.1 -lpthread
$(SOFTGPU)/libcublas.so.13: $(SOFTBLAS)/blas.o $(SOFTGPU)/libcublasLt.so.13
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) -shared -Wl,-soname,libcublas.so.13 $(LDFLAGS) -o $@ $< -L$(SOFTGPU) \
	    -l:libcublasLt.so.13 -Wl,-rpath-link,$(SOFTGPU)

# A stand-in for cuDNN: see tests/softgpu/dnn/README.md.
SOFTDNN := $(BUILD)/tests/softgpu/dnn
SOFTDNN_LIBS := $(SOFTGPU)/libcudnn.so.9
$(SOFTDNN)/kernels.fatbin: tests/softgpu/dnn/kernels.cu tests/softgpu/dnn/job.h | $(READY)
	$(call say,NVCC,$@)
	$(quiet)mkdir -p $(@D) && $(NVCC) -fatbin -std=c++17 -O3 \
	    -gencode arch=compute_$(CUVET_PTX),code=compute_$(CUVET_PTX) -o $@ $<
$(SOFTDNN)/kernels.S: $(SOFTDNN)/kernels.fatbin tools/dev/embed
	$(quiet)tools/dev/embed $< softdnn_fatbin softdnn_fatbin_size > $@
$(SOFTDNN)/kernels.o: $(SOFTDNN)/kernels.S
	$(quiet)$(CC) -c -o $@ $<
$(SOFTGPU)/libcudnn.so.9: $(SOFTDNN)/dnn.o $(SOFTDNN)/kernels.o $(SOFTGPU)/libcuda.so.1
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) -shared -Wl,-soname,libcudnn.so.9 $(LDFLAGS) -o $@ \
	    $(filter %.o,$^) -L$(SOFTGPU) -l:libcuda.so.1

# A stand-in for the runtime: see tests/softgpu/runtime/README.md.
SOFTRUNTIME_O := $(call objects,$(sort $(wildcard tests/softgpu/runtime/*.c)))
SOFTRUNTIME_LIBS := $(SOFTGPU)/libcudart.so.13
$(SOFTRUNTIME_O): C_FLAGS += -fvisibility=default
$(SOFTRUNTIME_LIBS): $(SOFTRUNTIME_O) tests/softgpu/runtime/exports $(SOFTGPU)/libcuda.so.1
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) $(SOFTGPU_SO_FLAGS) -Wl,-soname,libcudart.so.13 $(LDFLAGS) \
	    -Wl,--version-script=tests/softgpu/runtime/exports -o $@ $(SOFTRUNTIME_O) -L$(SOFTGPU) \
	    -l:libcuda.so.1 -lpthread

# A stand-in for NVML: see tests/softgpu/nvml/README.md.
SOFTNVML_LIBS := $(SOFTGPU)/libnvidia-ml.so.1
$(SOFTNVML_LIBS): $(BUILD)/tests/softgpu/nvml/nvml.o
	$(call say,LINK,$@)
	$(quiet)mkdir -p $(@D) && $(CC) $(OPTIMISE) -shared -Wl,-soname,libnvidia-ml.so.1 $(LDFLAGS) -o $@ $<

# A stand-in for nvJitLink: see tests/softgpu/jitlink/README.md.
SOFTJITLINK_LIBS := $(SOFTGPU)/libnvJitLink.so.13
$(BUILD)/tests/softgpu/jitlink/jitlink.o: C_FLAGS += -fvisibility=default -Wno-missing-prototypes
$(SOFTJITLINK_LIBS): $(BUILD)/tests/softgpu/jitlink/jitlink.o
	$(call say,LINK,$@)
	$(quiet)mkdir -p $(@D) && $(CC) $(OPTIMISE) -shared -Wl,-soname,libnvJitLink.so.13 $(LDFLAGS) -o $@ $<

# Unit tests: of the parts (linked with them), and of the driver's interface.
SOFTGPU_UNIT_C := $(sort $(wildcard tests/softgpu/unit/*/test_*.c))
SOFTGPU_PART_C := $(filter $(addprefix tests/softgpu/unit/,ptx/% exec/% lane/%),$(SOFTGPU_UNIT_C))
SOFTGPU_API_C := $(filter-out $(SOFTGPU_PART_C),$(SOFTGPU_UNIT_C))
SOFTGPU_UNIT_BIN := $(patsubst %.c,$(BUILD)/%,$(SOFTGPU_UNIT_C))
SOFTGPU_LINK := -L$(SOFTGPU) -l:libcuda.so.1 -l:libcupti.so.13 -Wl,-rpath,$(abspath $(SOFTGPU))

$(patsubst %.c,$(BUILD)/%,$(SOFTGPU_PART_C)): $(BUILD)/%: $(BUILD)/%.o $(SOFTGPU_EXEC_O)
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) $(LDFLAGS) -o $@ $^ -lcmocka $(SYSTEM_LIBS)
# Against the host's arithmetic.
$(BUILD)/tests/softgpu/unit/exec/test_exec_outlier: $(BUILD)/tests/unit/fakes/outlier_host.o
$(patsubst %.c,$(BUILD)/%,$(SOFTGPU_API_C)): $(BUILD)/%: $(BUILD)/%.o $(SOFTGPU_LIBS)
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) $(LDFLAGS) -o $@ $< $(SOFTGPU_LINK) -lcmocka $(SYSTEM_LIBS)
$(call objects,$(SOFTGPU_UNIT_C)): | $(BUILD)/.ready-tests

# Our own device code as PTX, for test_exec_real, test_exec_refs, test_exec_outlier and test_ptx_fuzz.
SOFTGPU_PTX := $(BUILD)/tests/softgpu/ptx
PTX_OF := $(BUILD)/tests/softgpu/unit/ptx/ptx_of
$(PTX_OF): $(PTX_OF).o $(BUILD)/tests/softgpu/driver/module/fatbin.o \
    $(addprefix $(BUILD)/shim/,base/error.o text/printable.o text/utf8.o)
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) $(LDFLAGS) -o $@ $^ -lzstd -llz4
$(SOFTGPU_PTX)/%.ptx: $(GEN)/%.fatbin $(PTX_OF)
	$(quiet)mkdir -p $(@D) && $(PTX_OF) $< $(CUVET_PTX) > $@

# Products by nvcuda::wmma, for test_exec_wmma.
$(SOFTGPU_PTX)/wmma.ptx: tests/softgpu/unit/exec/wmma.cu | $(READY)
	$(call say,NVCC,$@)
	$(quiet)mkdir -p $(@D) && $(NVCC) -ptx -std=c++17 -O3 -arch=compute_80 -o $@ $<

# A module in every form of fatbin that nvcc makes, for test_fatbins.
SOFTGPU_FATBINS := $(BUILD)/tests/softgpu/fatbins
$(SOFTGPU_FATBINS)/.made: tests/softgpu/unit/module/make-fatbins tests/softgpu/unit/module/modules.cu | $(READY)
	$(call say,NVCC,$(@D))
	$(quiet)tests/softgpu/unit/module/make-fatbins $(NVCC) tests/softgpu/unit/module/modules.cu $(@D) && touch $@

SOFTGPU_TEST_FILES := $(SOFTGPU_FATBINS)/.made \
    $(addprefix $(SOFTGPU_PTX)/,snapshot.ptx outlier.ptx refs.ptx refs_wide.ptx wmma.ptx)
SOFTGPU_TEST_ENV := SOFTGPU_TEST_FATBINS=$(SOFTGPU_FATBINS) SOFTGPU_PTX=$(SOFTGPU_PTX) \
    SOFTGPU_TEST_PTX=$(SOFTGPU_PTX)/refs.ptx

# What a real GPU computes, and the stand-in: see tests/softgpu/contract/README.md.
CONTRACT := $(BUILD)/tests/softgpu/contract
CONTRACT_O := $(call objects,$(sort $(wildcard tests/softgpu/contract/*.c)))
$(CONTRACT)/contract: $(CONTRACT_O)
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) $(LDFLAGS) -o $@ $^ -ldl -lm
$(CONTRACT)/contract_kernels.fatbin: tests/softgpu/contract/contract_kernels.cu | $(READY)
	$(call say,NVCC,$@)
	$(quiet)mkdir -p $(@D) && $(NVCC) -fatbin -std=c++17 \
	    -gencode arch=compute_$(CUVET_PTX),code=compute_$(CUVET_PTX) -o $@ $<
# What is of one architecture alone, as PTX for the stand-in and as machine code, so that ptxas is run too.
$(CONTRACT)/newest_%.fatbin: tests/softgpu/contract/newest_%.cu tests/softgpu/contract/tiles.h | $(READY)
	$(call say,NVCC,$@)
	$(quiet)mkdir -p $(@D) && $(NVCC) -fatbin -std=c++17 -Werror all-warnings \
	    -gencode 'arch=compute_90a,code=[compute_90a,sm_90a]' -o $@ $<
SOFTGPU_TEST_FILES += $(CONTRACT)/contract \
    $(addprefix $(CONTRACT)/,contract_kernels.fatbin newest_kernels.fatbin newest_copies.fatbin)

.PHONY: softgpu
## softgpu: the stand-ins for libcuda and libcupti that run PTX on the CPU
softgpu: $(SOFTGPU_LIBS) $(SOFTBLAS_LIBS) $(SOFTDNN_LIBS) $(SOFTRUNTIME_LIBS) $(SOFTNVML_LIBS) $(SOFTJITLINK_LIBS)

-include $(wildcard $(SOFTBLAS)/*.d $(BUILD)/tests/softgpu/runtime/*.d)
-include $(wildcard $(patsubst %.o,%.d,$(SOFTGPU_EXEC_O) $(SOFTGPU_DRIVER_O) $(SOFTGPU_CUPTI_O) \
    $(call objects,$(SOFTGPU_UNIT_C))))
