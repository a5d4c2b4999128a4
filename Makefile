# cuvet: one Makefile, no recursion. `make help` lists the targets and the variables.
#
# Everything is built into build/$(VARIANT)/, where the objects mirror the tree:
#   shim/base/error.c -> build/release/shim/base/error.o

VERSION := 0.1.0

## VARIANT=release|debug|san|tsan|cover|fuzz: what to build; san is ASan + UBSan, fuzz is for `make fuzz`
VARIANT ?= release
## CUDA_HOME=FOLDER: the CUDA toolkit, where the nvcc on PATH is not the one wanted
## CUVET_ARCHS="80 90": GPUs to make machine code for; others compile the PTX at load time
## CUVET_PTX=75: architecture of the PTX that every other GPU gets
CUVET_PTX ?= 75
## TESTS="word ...": only the unit tests whose name holds one of the words
TESTS ?=
## PREFIX=/usr/local DESTDIR=: where `install` puts things
PREFIX ?= /usr/local
## WERROR=1: warnings are errors;  V=1: print the commands
WERROR ?=
V ?=

BUILD := build/$(VARIANT)
GEN := $(BUILD)/gen
SHELL := /bin/bash
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:

# ---- toolkit ------------------------------------------------------------------------------------

ifdef CUDA_HOME
NVCC := $(wildcard $(CUDA_HOME)/bin/nvcc)
else
NVCC := $(or $(realpath $(shell command -v nvcc 2>/dev/null)),$(wildcard /usr/local/cuda/bin/nvcc))
endif
CUDA := $(or $(CUDA_HOME),$(patsubst %/bin/nvcc,%,$(NVCC)),/usr/local/cuda)
CUDA_FOLDERS := $(CUDA)/include $(CUDA)/targets/x86_64-linux/include \
    $(CUDA)/targets/sbsa-linux/include $(CUDA)/extras/CUPTI/include /usr/include
include tools/dev/toolkit.mk
CUDA_INCLUDE := $(patsubst %/cuda.h,%,$(firstword $(wildcard $(CUDA_FOLDERS:=/cuda.h))))
CUPTI_INCLUDE := $(patsubst %/cupti.h,%,$(firstword $(wildcard $(CUDA_FOLDERS:=/cupti.h))))

# ---- flags --------------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wshadow -Wconversion $(if $(WERROR),-Werror)
C_WARNINGS := $(WARNINGS) -Wmissing-prototypes -Wstrict-prototypes
INCLUDES := -I. -Ishim -Irefs -Irefs/dialect -Irefs/abi -I$(GEN)
CUDA_INCLUDES := $(addprefix -isystem ,$(sort $(filter-out /usr/include,$(CUDA_INCLUDE) $(CUPTI_INCLUDE))))
CODE := -g -fvisibility=hidden -fPIC -ffunction-sections -fdata-sections -fno-omit-frame-pointer

OPTIMISE_release := -O2
OPTIMISE_debug := -O0
OPTIMISE_san := -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined
OPTIMISE_tsan := -O1 -fsanitize=thread
OPTIMISE_fuzz := -O1 -w -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
OPTIMISE_cover := -O0 --coverage -fprofile-update=atomic
OPTIMISE := $(OPTIMISE_$(VARIANT))
ifeq ($(OPTIMISE),)
$(error VARIANT=$(VARIANT) is unknown; expected release, debug, san, tsan, cover or fuzz)
endif

C_FLAGS = -std=c11 -D_GNU_SOURCE $(C_WARNINGS) $(CODE) $(OPTIMISE) $(INCLUDES) $(CUDA_INCLUDES)
# The dialect of references nests scopes of one name and mixes sizes with reals, on purpose.
CXX_FLAGS = -std=c++17 -D_GNU_SOURCE $(filter-out -Wshadow -Wconversion,$(WARNINGS)) $(CODE) $(OPTIMISE) -fno-exceptions -fno-rtti \
    -fno-threadsafe-statics -ffp-contract=off $(INCLUDES)
DEPENDENCIES = -MMD -MP -MF $(@:.o=.d)

# libyaml, PCRE2 and the demangler are inside the library, hidden, so that they cannot clash with
# the program's own; what stays outside is libc.
STATIC_LIBS := -l:libyaml.a -l:libpcre2-8.a -l:libsupc++.a
# The program cuvet alone reads JSON and runs images. Static where the system has the archive, so
# that an installed cuvet needs libc alone.
prefer_static = $(if $(filter /%,$(shell $(CC) -print-file-name=lib$(1).a)),-l:lib$(1).a,-l$(1))
TOOL_LIBS := $(foreach name,jansson zstd lz4,$(call prefer_static,$(name)))
SYSTEM_LIBS := -Wl,--as-needed -lpthread -ldl -lm
SO_FLAGS := -shared -Wl,--version-script=shim/exports.map -Wl,--gc-sections \
    -Wl,--exclude-libs,ALL -Wl,-z,now -Wl,-z,relro -Wl,-soname,libcuvet.so \
    $(if $(filter san tsan,$(VARIANT)),,-Wl,-z,defs)

# ---- sources ------------------------------------------------------------------------------------

SHIM_C := $(filter-out shim/hook/audit.c,$(sort $(wildcard shim/*.c shim/*/*.c shim/*/*/*.c)))
CORE_C := $(filter-out shim/hook/% shim/init.c shim/session.c,$(SHIM_C))
# tools/ptx is linked from the interpreter's list; tools/dev holds programs of the build.
TOOL_C := $(sort $(filter-out tools/ptx/% tools/dev/%,$(wildcard tools/*.c tools/*/*.c tools/fuzz/case/*.c)))
REFS_CU := $(filter-out refs/refs.cu,$(sort $(wildcard refs/*.cu))) # refs.cu includes the others
# The dialect, as NVRTC gets it for references that a registry brings along.
REF_HEADERS := $(filter-out $(addprefix refs/abi/ref_,batch.h host.h list.h product.h project.h),\
    $(sort $(wildcard refs/*.h refs/*/*.h)))
UNIT_C := $(sort $(wildcard tests/unit/*/test_*.c))
UNIT_HELPER_C := $(filter-out $(UNIT_C),$(sort $(wildcard tests/unit/*/*.c)))

objects = $(patsubst %.c,$(BUILD)/%.o,$(1))
TABLES := $(sort $(wildcard config/kernels/*.yaml config/calls/*.yaml))
EMBEDDED := $(addprefix $(GEN)/,snapshot.o outlier.o lift.o refs.o refs_wide.o tolerances.o tables.o ref_headers.o)
# The reader of PTX, which lifted references are made with.
PTX_O := $(call objects,$(sort $(wildcard tools/ptx/*.c)))
SHIM_O := $(call objects,$(SHIM_C)) $(PTX_O) $(EMBEDDED) $(GEN)/ref_list.o
CORE_O := $(call objects,$(CORE_C)) $(PTX_O) $(EMBEDDED) $(GEN)/ref_list.o
TOOL_O := $(call objects,$(TOOL_C)) $(addprefix $(GEN)/,report_css.o report_js.o man_pages.o)
HOST_REFS_O := $(BUILD)/refs/abi/ref_host.o $(BUILD)/refs/abi/ref_product.o
UNIT_HELPER_CPP := $(sort $(wildcard tests/unit/*/*.cpp))
UNIT_HELPER_O := $(call objects,$(UNIT_HELPER_C)) $(patsubst %.cpp,$(BUILD)/%.o,$(UNIT_HELPER_CPP))
UNIT_BIN := $(patsubst %.c,$(BUILD)/%,$(UNIT_C))
UNIT_RUN := $(if $(TESTS),$(foreach word,$(TESTS),$(foreach bin,$(UNIT_BIN),$(if \
    $(findstring $(word),$(notdir $(bin))),$(bin)))),$(UNIT_BIN))

LIB := $(BUILD)/libcuvet.so
AUDIT := $(BUILD)/libcuvet-audit.so
CORE := $(BUILD)/libcuvet_core.a
TOOL := $(BUILD)/cuvet
TOOL_PARTS := $(BUILD)/libcuvet_tools.a
REFGEN := $(BUILD)/refgen
DEMO := $(BUILD)/tests/demo/demo
HAS_GPU := $(BUILD)/tests/demo/has_gpu
INTERPRETER := $(BUILD)/tests/bench/interpreter
PLUGINS := $(addprefix $(BUILD)/tests/plugin/,told.so throws.so)
GATE_COST := $(BUILD)/tests/bench/gate_cost
HOOK_COST := $(addprefix $(BUILD)/tests/bench/,hook_cost hook_cupti.so)
DEMO_KERNELS := $(BUILD)/tests/demo/kernels.fatbin
CONTROL := $(addprefix $(BUILD)/tests/control/,world.so inside)
MAN := $(BUILD)/cuvet.1
READY := $(BUILD)/.ready

say = @printf '  %-7s %s\n' $(1) $(2)
quiet := $(if $(V),,@)

include tests/softgpu/rules.mk tests/scenario/rules.mk tests/corpus/rules.mk tests/fuzz/rules.mk

# ---- targets ------------------------------------------------------------------------------------

.PHONY: all help fatbin demo unit test check gpu-test bench install uninstall format docs cover \
    run-cover outlier-table entry-cost clean FORCE

## all: libcuvet.so and its auditor, the program cuvet and its manual page
all: $(LIB) $(AUDIT) $(TOOL) $(MAN)

## fatbin: the device code alone
fatbin: $(GEN)/snapshot.fatbin $(GEN)/outlier.fatbin $(GEN)/refs.fatbin $(GEN)/refs_wide.fatbin

## demo: run four kernels, one of them wrong, under cuvet: on the GPU, or without one on softgpu
demo: all $(DEMO) $(DEMO_KERNELS) $(HAS_GPU)
	$(quiet)if $(HAS_GPU); then echo 'demo: on the GPU of this machine'; else \
	    $(MAKE) --no-print-directory softgpu && echo 'demo: no GPU here, so the kernels run' \
	    'on softgpu, which interprets their PTX on the CPU' && \
	    export CUVET_EXIT_WAIT=60000 \
	    LD_LIBRARY_PATH=$(abspath $(SOFTGPU)):$$LD_LIBRARY_PATH; fi && \
	    $(TOOL) run -c tests/demo/demo.yaml -- $(DEMO)

## unit: the unit tests alone
unit: $(UNIT_BIN) $(TOOL) $(PLUGINS)
	$(quiet)tests/run_unit.sh $(UNIT_RUN)

# Scripts, then unit tests, then softgpu and whole programs on it.
SCRIPTS := tests/check_tree.sh tests/check_self.sh tests/check_cli.sh tests/check_ctl.sh \
    tests/check_report.sh tests/check_trace.sh
PROGRAMS := tests/check_replay.sh tests/check_discover.sh tests/check_lift.sh tests/softgpu/contract/check.sh \
    tests/scenario/run.sh tests/scenario/sweep.sh \
    tests/corpus/check.sh tests/corpus/lint.sh tests/corpus/lift.sh tests/corpus/fuzz.sh tests/fuzz/check.sh
## test: unit tests, the checks of the finished library, and programs under it on softgpu (no GPU needed)
test: $(UNIT_BIN) $(SOFTGPU_UNIT_BIN) $(SOFTGPU_TEST_FILES) all softgpu $(SCENARIO_ALL) $(DEMO) \
    $(DEMO_KERNELS) $(CONTROL) $(PLUGINS) $(CORPUS_FILES) $(LIFT_FILES) $(FUZZ) $(FUZZ_SEEDS)/.made
	$(quiet)CUVET_BUILD=$(BUILD) CUPTI_INCLUDE=$(CUPTI_INCLUDE) VARIANT=$(VARIANT) TEST_SECONDS=900 \
	    $(SOFTGPU_TEST_ENV) tests/run_unit.sh $(if $(TESTS),$(UNIT_RUN),$(SCRIPTS) $(UNIT_RUN) \
	    $(SOFTGPU_UNIT_BIN) $(PROGRAMS))

## sanitize: threads and driver calls that fail, under ASan and UBSan and under TSan
sanitize:
	$(quiet)for variant in san tsan; do \
	    $(MAKE) --no-print-directory VARIANT=$$variant sanitized || exit 1; done
.PHONY: sanitize sanitized
sanitized: all softgpu $(SCENARIO_ALL)
	$(quiet)CUVET_BUILD=$(BUILD) VARIANT=$(VARIANT) TEST_SECONDS=600 tests/run_unit.sh \
	    tests/scenario/sanitized.sh

## check: every house rule: layers, exports, size, format, headers, documents, linters
check: all
	$(quiet)CUVET_BUILD=$(BUILD) CUDA_INCLUDE=$(CUDA_INCLUDE) CUPTI_INCLUDE=$(CUPTI_INCLUDE) \
	    VARIANT=$(VARIANT) tools/dev/check-all

## gpu-test: the library inside real programs on a real GPU
gpu-test: all
	$(quiet)CUVET_BUILD=$(BUILD) NVCC=$(NVCC) tests/gpu/run.sh $(TESTS)

.PHONY: bench-programs
bench-programs: all $(INTERPRETER) $(GATE_COST) $(HOOK_COST) $(BUILD)/tests/unit/hook/test_entry softgpu $(SOFTGPU_PTX)/refs.ptx $(HAS_GPU)

## bench: what a checked launch and a sampled step cost (needs a GPU), and how fast softgpu runs PTX
bench: bench-programs
	$(quiet)CUVET_BUILD=$(BUILD) NVCC=$(NVCC) tests/bench/run.sh

## outlier-table: what the detectors of the outlier gate find, and their false alarms
outlier-table: $(BUILD)/tests/unit/extra/test_outlier
	$(quiet)$< --table

## entry-cost: what a wrapped launch costs beyond the driver's, in ns; no GPU
entry-cost: $(BUILD)/tests/unit/hook/test_entry
	$(quiet)$< --cost

## cover: what tests and scenarios execute: lines of shim/, device functions, PTX opcodes
cover:
	$(quiet)$(MAKE) --no-print-directory VARIANT=cover run-cover
run-cover: all softgpu $(DEMO) $(DEMO_KERNELS) $(UNIT_BIN) $(SOFTGPU_UNIT_BIN) $(SOFTGPU_TEST_FILES) $(SCENARIO_ALL)
	$(quiet)CUVET_BUILD=$(BUILD) VARIANT=$(VARIANT) TEST_SECONDS=900 $(SOFTGPU_TEST_ENV) tests/cover.sh \
	    tests/check_cli.sh $(UNIT_BIN) $(SOFTGPU_UNIT_BIN)

## format: lay out the sources with clang-format
format:
	$(quiet)tools/dev/check-format --fix

## docs: write the tables of README.md again from their sources
docs: $(TOOL)
	$(quiet)tools/dev/check-docs --fix $(TOOL)

## clean: remove build/
clean:
	$(quiet)rm -rf build

help:
	@echo 'make TARGET ... VARIABLE=value ...'
	@sed -n 's/^## \([a-z-]*\): \(.*\)/  \1	\2/p' Makefile | expand -t 14
	@echo 'variables'
	@sed -n 's/^## \([A-Z_]*=.*\)/  \1/p' Makefile

# ---- library and program ------------------------------------------------------------------------

$(LIB): $(SHIM_O) shim/exports.map
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) $(SO_FLAGS) $(LDFLAGS) -o $@ $(SHIM_O) $(STATIC_LIBS) $(SYSTEM_LIBS)

# In a namespace of its own, so no variant instruments it.
$(AUDIT): shim/hook/audit.c Makefile | $(READY)
	$(call say,LINK,$@)
	$(quiet)$(CC) -std=c11 -D_GNU_SOURCE $(C_WARNINGS) -O2 -g -fPIC -fvisibility=hidden -shared -Wl,-z,now,-z,relro \
	    -Wl,-soname,libcuvet-audit.so -o $@ $< -ldl

$(CORE): $(CORE_O)
	$(call say,AR,$@)
	$(quiet)rm -f $@.new && $(AR) rcs $@.new $(CORE_O) && mv $@.new $@

# The PTX interpreter and the reader of fatbins, which the worker runs kernels with where there is no GPU.
TOOL_EXEC_O = $(filter-out $(BUILD)/shim/%,$(SOFTGPU_EXEC_O)) $(BUILD)/tests/softgpu/driver/fatbin.o
$(BUILD)/tools/%.o: INCLUDES += -Itools
$(BUILD)/tools/lift/%.o $(BUILD)/tools/cmd_lift.o $(BUILD)/tests/unit/tools/test_lift.o: INCLUDES += -Itools -Itests/softgpu
$(BUILD)/tools/lift/%.o: C_FLAGS += -O2 -fno-strict-aliasing -ffp-contract=off

$(TOOL): $(TOOL_O) $(CORE) $(HOST_REFS_O) $(TOOL_EXEC_O)
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) -Wl,--gc-sections $(LDFLAGS) -o $@ $(TOOL_O) $(HOST_REFS_O) $(TOOL_EXEC_O) \
	    $(CORE) $(STATIC_LIBS) $(TOOL_LIBS) $(SYSTEM_LIBS)

# The parts of the program that unit tests call.
$(TOOL_PARTS): $(filter-out $(BUILD)/tools/cmd_% $(BUILD)/tools/cuvet.o,$(TOOL_O)) $(TOOL_EXEC_O)
	$(call say,AR,$@)
	$(quiet)rm -f $@.new && $(AR) rcs $@.new $^ && mv $@.new $@

$(BUILD)/shim/lift/%.o: INCLUDES += -Itools
$(BUILD)/tests/unit/lift/%.o: INCLUDES += -Itools -Itests/softgpu

$(BUILD)/%.o: %.c | $(READY)
	$(call say,CC,$<)
	$(quiet)mkdir -p $(@D) && $(CC) $(C_FLAGS) $(CFLAGS) $(DEPENDENCIES) -c -o $@ $<

$(BUILD)/shim/version.o: C_FLAGS += -DCUVET_VERSION='"$(VERSION)"'
$(BUILD)/shim/version.o: Makefile

# Most of this file is cold at each launch (base/hot.h): it should be short, not quick once it is there.
$(BUILD)/shim/hook/cupti_router.o: C_FLAGS += -fno-tree-ch -fno-align-loops -fno-align-jumps \
    -fno-align-labels

# Says in one sentence what is missing, once for each build folder.
$(READY): tools/dev/check-deps
	$(quiet)mkdir -p $(BUILD) $(GEN)
	$(quiet)NVCC='$(NVCC)' CUDA_INCLUDE='$(CUDA_INCLUDE)' CUPTI_INCLUDE='$(CUPTI_INCLUDE)' \
	    CC='$(CC)' CXX='$(CXX)' tools/dev/check-deps build
	$(quiet)touch $@

# ---- device code and references -----------------------------------------------------------------

# Machine code for these where the toolkit knows them: one for each major version, which serves its
# minor ones too. Every other GPU compiles the PTX when the library loads it.
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
# them less where nvcc can be told so; the others would take up to a fifth longer that way.
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
$(GEN)/lift.ptx: shim/lift/lift.cu shim/lift/lift_abi.h refs/abi/ref_abi.h refs/abi/ref_merge.h | $(READY)
	$(call say,NVCC,$@)
	$(quiet)$(NVCC) -ptx -rdc=true -std=c++17 -O3 -arch=compute_80 $(INCLUDES) -o $@.all $< && \
	    grep -v -e '^//' -e '^\.version' -e '^\.target' -e '^\.address_size' $@.all > $@
$(GEN)/lift.S: tools/dev/embed Makefile | $(READY)
	$(quiet)tools/dev/embed $(GEN)/lift.ptx cuvet_lift_ptx cuvet_lift_ptx_size > $@
$(GEN)/lift.o: $(GEN)/lift.ptx
$(GEN)/snapshot.S: tools/dev/embed Makefile | $(READY)
	$(quiet)tools/dev/embed $(GEN)/snapshot.fatbin cuvet_snapshot_fatbin cuvet_snapshot_fatbin_size > $@
$(GEN)/outlier.S: tools/dev/embed Makefile | $(READY)
	$(quiet)tools/dev/embed $(GEN)/outlier.fatbin cuvet_outlier_fatbin cuvet_outlier_fatbin_size > $@
$(GEN)/refs.S: tools/dev/embed Makefile | $(READY)
	$(quiet)tools/dev/embed $(GEN)/refs.fatbin cuvet_refs_fatbin cuvet_refs_fatbin_size > $@
$(GEN)/refs_wide.S: tools/dev/embed Makefile | $(READY)
	$(quiet)tools/dev/embed $(GEN)/refs_wide.fatbin cuvet_refs_wide_fatbin cuvet_refs_wide_fatbin_size > $@
$(GEN)/tolerances.S: tools/dev/embed Makefile | $(READY)
	$(quiet)tools/dev/embed config/tolerances.yaml cuvet_tolerances_yaml cuvet_tolerances_yaml_len > $@
$(GEN)/tables.S: tools/dev/embed-table Makefile $(TABLES) | $(READY)
	$(quiet)tools/dev/embed-table cuvet_tables $(TABLES) > $@
$(GEN)/ref_headers.S: tools/dev/embed-table Makefile $(REF_HEADERS) | $(READY)
	$(quiet)tools/dev/embed-table cuvet_ref_headers $(REF_HEADERS) > $@
PAGES := $(sort $(wildcard tools/man/*.md)) config/README.md
$(GEN)/man_pages.S: tools/dev/embed-table Makefile $(PAGES) | $(READY)
	$(quiet)tools/dev/embed-table cuvet_man_pages $(PAGES) > $@
$(GEN)/man_pages.o: $(PAGES)
$(GEN)/report_css.S $(GEN)/report_js.S: $(GEN)/report_%.S: tools/dev/embed Makefile | $(READY)
	$(quiet)tools/dev/embed tools/report/page.$* cuvet_report_$* cuvet_report_$*_size > $@
$(GEN)/report_css.o: tools/report/page.css
$(GEN)/report_js.o: tools/report/page.js
$(GEN)/snapshot.o: $(GEN)/snapshot.fatbin
$(GEN)/outlier.o: $(GEN)/outlier.fatbin
$(GEN)/refs.o: $(GEN)/refs.fatbin
$(GEN)/refs_wide.o: $(GEN)/refs_wide.fatbin
$(GEN)/tolerances.o: config/tolerances.yaml
$(GEN)/tables.o: $(TABLES)
$(GEN)/ref_headers.o: $(REF_HEADERS)

$(GEN)/%.o: $(GEN)/%.S
	$(call say,EMBED,$@)
	$(quiet)$(CC) -c -o $@ $<

# The list of references and their formals, from the REFERENCE lines of refs/. refgen writes a file
# only when its text changes, so the stamp alone says when it ran last.
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
$(HOST_REFS_O) $(patsubst %.cpp,$(BUILD)/%.o,$(UNIT_HELPER_CPP)): $(BUILD)/%.o: %.cpp $(REFGEN_OUT)
	$(call say,CXX,$<)
	$(quiet)mkdir -p $(@D) && $(CXX) $(CXX_FLAGS) $(CXXFLAGS) $(DEPENDENCIES) -c -o $@ $<

# Of the many functions that ref_dtype.h and ref_exponential.h have, a few.
$(BUILD)/refs/abi/ref_product.o $(BUILD)/tests/unit/refs/ref_near.o $(BUILD)/tests/unit/refs/ref_quick.o: CXX_FLAGS += -Wno-unused-function

# ---- tests --------------------------------------------------------------------------------------

$(UNIT_BIN): %: %.o $(UNIT_HELPER_O) $(TOOL_PARTS) $(CORE) $(HOST_REFS_O)
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) $(LDFLAGS) -o $@ $< $(UNIT_MORE_O) $(UNIT_HELPER_O) $(HOST_REFS_O) $(TOOL_PARTS) $(CORE) \
	    $(STATIC_LIBS) $(TOOL_LIBS) -lcmocka $(SYSTEM_LIBS)

# The core archive holds nothing of hook/.
ENTRY_O := $(call objects,$(wildcard shim/hook/entry*.c) shim/hook/launch_decode.c)
$(BUILD)/tests/unit/hook/test_entry: UNIT_MORE_O = $(ENTRY_O)
$(BUILD)/tests/unit/hook/test_entry: $(ENTRY_O)
CUDNN_PLAN_O := $(call objects,$(addprefix shim/hook/calls/,descriptors.c cudnn_plan.c cudnn_conv.c cudnn_attention.c))
$(BUILD)/tests/unit/hook/test_cudnn_plan: UNIT_MORE_O = $(CUDNN_PLAN_O)
$(BUILD)/tests/unit/hook/test_cudnn_plan: $(CUDNN_PLAN_O)

$(call objects,$(UNIT_C)): | $(BUILD)/.ready-tests
$(BUILD)/.ready-tests: tools/dev/check-deps | $(READY)
	$(quiet)CC='$(CC)' CXX='$(CXX)' tools/dev/check-deps tests
	$(quiet)touch $@

# What `cuvet ctl` and the examples of README.md talk to where there is no GPU.
$(BUILD)/tests/control/world.o: INCLUDES += -Itests
$(BUILD)/tests/control/world.so: $(BUILD)/tests/control/world.o $(BUILD)/tests/unit/common/control_world.o \
    $(CORE) $(HOST_REFS_O) shim/exports.map
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) -shared -Wl,--version-script=shim/exports.map -Wl,--gc-sections $(LDFLAGS) \
	    -o $@ $(filter %.o,$^) $(CORE) $(STATIC_LIBS) $(SYSTEM_LIBS)

# An example is compiled as a program's author would.
$(BUILD)/tests/control/inside: tests/control/inside.c shim/cuvet.h | $(READY)
	$(call say,CC,$@)
	$(quiet)mkdir -p $(@D) && $(CC) -std=c11 -D_GNU_SOURCE $(C_WARNINGS) -O2 -g -Ishim -o $@ $< -ldl

# The demo is a program like any other: it is built without a word of ours.
$(DEMO): tests/demo/demo.c | $(READY)
	$(call say,CC,$@)
	$(quiet)mkdir -p $(@D) && $(CC) -std=c11 -D_GNU_SOURCE $(C_WARNINGS) -O2 -g $(CUDA_INCLUDES) -o $@ $< -ldl -lm

$(HAS_GPU): tests/demo/has_gpu.c | $(READY)
	$(call say,CC,$@)
	$(quiet)mkdir -p $(@D) && $(CC) -std=c11 -D_GNU_SOURCE $(C_WARNINGS) -O2 $(CUDA_INCLUDES) -o $@ $< -ldl

# Plugins are built as their authors would, with the installed header alone.
$(BUILD)/tests/plugin/%.so: tests/plugin/%.c shim/cuvet_plugin.h | $(READY)
	$(call say,CC,$@)
	$(quiet)mkdir -p $(@D) && $(CC) -Wall -Wextra -shared -fPIC -O2 -Ishim -o $@ $<
$(BUILD)/tests/plugin/%.so: tests/plugin/%.cpp shim/cuvet_plugin.h | $(READY)
	$(call say,CXX,$@)
	$(quiet)mkdir -p $(@D) && $(CXX) -Wall -Wextra -shared -fPIC -O2 -Ishim -o $@ $<

$(DEMO_KERNELS): tests/demo/kernels.cu $(GEN)/gencode
	$(call say,NVCC,$@)
	$(quiet)mkdir -p $(@D) && $(NVCC) -fatbin -std=c++17 -O3 $(GENCODE) -o $@ $<

$(INTERPRETER).o: INCLUDES += -Itests/softgpu -Itools
$(INTERPRETER): $(INTERPRETER).o $(SOFTGPU_EXEC_O)
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) $(LDFLAGS) -o $@ $^ $(SYSTEM_LIBS)
$(GATE_COST): $(GATE_COST).o $(CORE)
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) $(LDFLAGS) -o $@ $^ $(SYSTEM_LIBS)
# What it takes is measured as it is built for users, so all is built so, whatever the variant.
$(BUILD)/tests/bench/hook_cost: tests/bench/hook_cost.c shim/base/clock.c | $(READY)
	$(call say,CC,$@)
	$(quiet)mkdir -p $(@D) && $(CC) -std=c11 -D_GNU_SOURCE $(C_WARNINGS) -O2 -g $(INCLUDES) $(CUDA_INCLUDES) \
	    -o $@ $^ -ldl
$(BUILD)/tests/bench/hook_cupti.so: tests/bench/toggle_cupti.c | $(READY)
	$(call say,CC,$@)
	$(quiet)mkdir -p $(@D) && $(CC) -Wall -Wextra -shared -fPIC -O2 $(CUDA_INCLUDES) \
	    -DCUPTI_PATH='"libcupti.so"' -o $@ $< -ldl

# ---- manual page, installation ------------------------------------------------------------------

$(MAN): tools/cuvet.1 $(TOOL)
	$(call say,MAN,$@)
	$(quiet)$(TOOL) help options --man > $@.options
	$(quiet)sed -e 's/@VERSION@/$(VERSION)/' -e '/@OPTIONS@/{r $@.options' -e 'd}' $< > $@

# The pages of tools/man: man pages where lowdown is installed, else the Markdown itself.
MAN_PAGES := $(BUILD)/man/.made
$(MAN_PAGES): $(wildcard tools/man/*.md) config/README.md tools/dev/make-man | $(READY)
	$(call say,MAN,$(@D))
	$(quiet)tools/dev/make-man $(@D) $(VERSION) && touch $@

INSTALL := install -D -p
TO := $(DESTDIR)$(PREFIX)
## install: program, library, header, manual pages, tolerances and kernel tables under PREFIX
install: all $(MAN_PAGES)
	$(INSTALL) -m 755 $(TOOL) $(TO)/bin/cuvet
	$(INSTALL) -m 755 $(LIB) $(TO)/lib/libcuvet.so
	$(INSTALL) -m 755 $(AUDIT) $(TO)/lib/libcuvet-audit.so
	$(INSTALL) -m 644 shim/cuvet.h $(TO)/include/cuvet.h
	$(INSTALL) -m 644 shim/cuvet_plugin.h $(TO)/include/cuvet_plugin.h
	$(INSTALL) -m 644 $(MAN) $(TO)/share/man/man1/cuvet.1
	$(INSTALL) -m 644 tools/completion/cuvet.bash $(TO)/share/bash-completion/completions/cuvet
	$(INSTALL) -m 644 tools/completion/_cuvet $(TO)/share/zsh/site-functions/_cuvet
	for page in $(BUILD)/man/cuvet-*; do case $$page in \
	    *.md) $(INSTALL) -m 644 $$page $(TO)/share/doc/cuvet/$${page##*/} ;; \
	    *) $(INSTALL) -m 644 $$page $(TO)/share/man/man$${page##*.}/$${page##*/} ;; esac || exit 1; done
	$(INSTALL) -m 644 config/tolerances.yaml $(TO)/share/cuvet/tolerances.yaml
	$(INSTALL) -m 644 config/tolerances-close.yaml $(TO)/share/cuvet/tolerances-close.yaml
	install -d $(TO)/share/cuvet/kernels $(TO)/lib/pkgconfig
	$(if $(wildcard config/untried/*.yaml),install -d $(TO)/share/cuvet/untried && \
	    install -p -m 644 $(wildcard config/untried/*.yaml) $(TO)/share/cuvet/untried)
	install -p -m 644 $(TABLES) $(TO)/share/cuvet/kernels
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' shim/cuvet.pc.in \
	    > $(TO)/lib/pkgconfig/cuvet.pc

## uninstall: remove what `install` put there
uninstall:
	rm -f $(TO)/bin/cuvet $(TO)/lib/libcuvet.so $(TO)/lib/libcuvet-audit.so $(TO)/include/cuvet.h \
	    $(TO)/include/cuvet_plugin.h $(TO)/share/man/man1/cuvet.1 $(TO)/lib/pkgconfig/cuvet.pc
	rm -f $(TO)/share/bash-completion/completions/cuvet $(TO)/share/zsh/site-functions/_cuvet
	rm -f $(TO)/share/man/man[157]/cuvet-*.[157]
	rm -rf $(TO)/share/cuvet $(TO)/share/doc/cuvet

-include $(wildcard $(patsubst %.o,%.d,$(SHIM_O) $(TOOL_O) $(REFGEN_O) $(HOST_REFS_O) \
    $(call objects,$(UNIT_C)) $(UNIT_HELPER_O) $(INTERPRETER).o $(GATE_COST).o) $(GEN)/*.fatbin.d)
