# rules.mk - device code of the library and the references; the top-level Makefile includes it.

# Machine code for those of these that the toolkit supports: one for each major version, which runs
# on its minor ones too. Every other GPU compiles the PTX when the library loads it.
DEVICE_FLAGS := -std=c++17 -O3 $(INCLUDES)
GENCODE_SCRIPT := tools/dev/gencode
# Not $(file <): make 4.3 may leave the line end on what it reads, which cuts the command in two.
GENCODE = $(shell cat $(GEN)/gencode)

# What the device code uses that is newer than the PTX: early.cuh of 9.0. (outlier_element.h could use 8.0's,
# too, in another pass; as it is, GPUs of 8.x add up over the lanes of a warp by shuffles.)
GENCODES := $(addprefix $(GEN)/gencode,-snapshot -outlier) $(GEN)/gencode
$(GEN)/gencode-snapshot: FRONTS := 90
$(GEN)/gencode-outlier: FRONTS := 90
$(GENCODES): FORCE | $(READY)
	$(quiet)new=$@.$$$$; $(GENCODE_SCRIPT) '$(NVCC)' '$(CUVET_ARCHS)' '$(CUVET_PTX)' '$(FRONTS)' > $$new && \
	    if cmp -s $$new $@; then rm $$new; else mv $$new $@; fi

# The references are most of the build's time. Each function that their kernels call stands in the machine code once
# (tools/dev/fatbin-shared). The wide kernels spend their own time on f64 arithmetic, so the front-end optimises
# them less where nvcc has the option; the others would take up to a fifth longer that way.
FASTER = $(shell $(NVCC) --help | grep -q -e --Ofast-compile && echo --Ofast-compile=min)
$(GEN)/refs.fatbin: DEVICE_FLAGS += -DREF_PART=1
$(GEN)/refs_wide.fatbin: DEVICE_FLAGS += -DREF_PART=2 $(FASTER)

define nvcc_fatbin
	$(call say,NVCC,$@)
	$(quiet)$(NVCC) -fatbin $(DEVICE_FLAGS) $(GENCODE) -MMD -MP -MF $@.d -MT $@ -o $@ $<
endef
define nvcc_fatbin_shared
	$(call say,NVCC,$@)
	$(quiet)tools/dev/fatbin-shared '$(NVCC)' $< $@ $@.d '$(GENCODE)' -- $(DEVICE_FLAGS)
endef

# The variants take the release's device code. Coverage has its own: PTX alone, which softgpu runs, with
# the lines that each instruction comes from.
ifeq ($(VARIANT),cover)
GENCODE := -gencode arch=compute_$(CUVET_PTX),code=compute_$(CUVET_PTX)
DEVICE_FLAGS += -lineinfo
else
$(GEN)/snapshot.fatbin: GENCODE = $(shell cat $(GEN)/gencode-snapshot)
$(GEN)/outlier.fatbin: GENCODE = $(shell cat $(GEN)/gencode-outlier)
endif
ifneq ($(filter release cover,$(VARIANT)),)
$(GEN)/snapshot.fatbin: shim/device/snapshot.cu $(GEN)/gencode-snapshot
	$(nvcc_fatbin)
$(GEN)/outlier.fatbin: shim/device/outlier.cu $(GEN)/gencode-outlier
	$(nvcc_fatbin)
$(GEN)/refs.fatbin $(GEN)/refs_wide.fatbin: refs/refs.cu $(GEN)/ref_formals.h $(GEN)/gencode \
    tools/dev/fatbin-shared
	$(nvcc_fatbin_shared)
else
$(GEN)/%.fatbin: FORCE | $(READY)
	$(quiet)$(MAKE) --no-print-directory VARIANT=release build/release/gen/$*.fatbin
	$(quiet)cmp -s build/release/gen/$*.fatbin $@ || cp build/release/gen/$*.fatbin $@
endif

# Text without a header, which each lifted kernel is put behind (shim/lift).
$(GEN)/lift.ptx: shim/lift/lift.cu shim/lift/lift_abi.h refs/abi/ref_abi.h refs/abi/ref_merge.h refs/rules.mk | $(READY)
	$(call say,NVCC,$@)
	$(quiet)$(NVCC) -ptx -rdc=true -std=c++17 -O3 -arch=compute_80 $(INCLUDES) -o $@.all $< && \
	    grep -v -e '^//' -e '^\.version' -e '^\.target' -e '^\.address_size' -e '\.pragma' $@.all > $@

# The list of references and their formals, from the REFERENCE lines of refs/. refgen writes a file
# only when its text changes, so the time of the last run is the stamp's alone.
REFGEN_O := $(call objects,tools/dev/refgen.c shim/lang/ref_text.c shim/lang/formals.c \
    shim/lang/formals_cursor.c shim/base/error.c \
    shim/text/printable.c shim/text/utf8.c)
$(REFGEN): $(REFGEN_O)
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) $(LDFLAGS) -o $@ $^ -lm

REFGEN_OUT := $(addprefix $(GEN)/,ref_formals.h ref_list.c ref_host_table.inc)
$(GEN)/.refgen: $(REFGEN) $(REFS_CU)
	$(call say,REFGEN,$(GEN))
	$(quiet)$(REFGEN) $(GEN) $(REFS_CU) && touch $@
$(REFGEN_OUT): $(GEN)/.refgen
	@:

$(GEN)/ref_list.o: $(GEN)/ref_list.c
	$(call say,CC,$<)
	$(quiet)$(CC) $(C_FLAGS) $(CFLAGS) -c -o $@ $<

# The references compiled for the host: the oracle of offline tools and unit tests. One large file, which takes
# twice as long with all optimisations and their debug information.
ifeq ($(VARIANT),release)
$(HOST_REFS_O): CODE := $(filter-out -g,$(CODE))
$(HOST_REFS_O): OPTIMISE := -O1
endif
$(BUILD)/%.o: %.cpp $(REFGEN_OUT)
	$(call say,CXX,$<)
	$(quiet)mkdir -p $(@D) && $(CXX) $(CXX_FLAGS) $(CXXFLAGS) $(DEPENDENCIES) -c -o $@ $<

# Of the many functions that ref_dtype.h has, a few.
$(BUILD)/refs/abi/ref_product.o: CXX_FLAGS += -Wno-unused-function

-include $(wildcard $(patsubst %.o,%.d,$(REFGEN_O) $(HOST_REFS_O)) $(GEN)/*.fatbin.d)
