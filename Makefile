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

# libyaml, PCRE2, the demangler, zstd and LZ4 (for fatbins) are inside the library, hidden, so that they
# cannot clash with the program's own; what stays outside is libc.
STATIC_LIBS := -l:libyaml.a -l:libpcre2-8.a -l:libsupc++.a -l:libzstd.a -l:liblz4.a
# The program cuvet alone reads JSON. Static where the system has the archive, so
# that an installed cuvet needs libc alone.
prefer_static = $(if $(filter /%,$(shell $(CC) -print-file-name=lib$(1).a)),-l:lib$(1).a,-l$(1))
TOOL_LIBS := $(foreach name,jansson,$(call prefer_static,$(name)))
SYSTEM_LIBS := -Wl,--as-needed -lpthread -ldl -lm
SO_FLAGS := -shared -Wl,--version-script=shim/exports.map -Wl,--gc-sections \
    -Wl,--exclude-libs,ALL -Wl,-z,now -Wl,-z,relro -Wl,-soname,libcuvet.so \
    $(if $(filter san tsan,$(VARIANT)),,-Wl,-z,defs)

# ---- sources ------------------------------------------------------------------------------------

SHIM_C := $(filter-out shim/hook/audit.c,$(sort $(wildcard shim/*.c shim/*/*.c shim/*/*/*.c)))
CORE_C := $(filter-out shim/hook/% shim/init.c shim/session/session.c,$(SHIM_C))
# tools/ptx is linked from the interpreter's list, tools/facts from the library's; tools/dev holds programs of the build.
TOOL_C := $(sort $(filter-out tools/ptx/% tools/facts/% tools/dev/%,$(wildcard tools/*.c tools/*/*.c tools/*/*/*.c)))
# In the order of their names, whatever room they are in. refs.cu includes them.
REFS_CU := $(foreach name,$(sort $(notdir $(wildcard refs/*/*.cu))),$(wildcard refs/*/$(name)))
# The dialect, as NVRTC gets it for references that a registry brings along.
REF_HEADERS := $(filter-out $(addprefix refs/abi/ref_,batch.h host.h list.h product.h project.h),\
    $(sort $(wildcard refs/ref.h refs/dialect/*.h refs/abi/*.h)))

objects = $(patsubst %.c,$(BUILD)/%.o,$(1))
TABLES := $(sort $(wildcard config/kernels/*.yaml config/calls/*.yaml))
EMBEDDED := $(addprefix $(GEN)/,snapshot.o outlier.o lift.o refs.o refs_wide.o tables.o ref_headers.o)
# The reader of PTX, which lifted references are made with, and what it shows of parameters.
PTX_O := $(call objects,$(sort $(wildcard tools/ptx/*.c tools/ptx/*/*.c)))
FACTS_O := $(call objects,$(wildcard tools/facts/*.c))
SHIM_O := $(call objects,$(SHIM_C)) $(PTX_O) $(FACTS_O) $(EMBEDDED) $(GEN)/ref_list.o
CORE_O := $(call objects,$(CORE_C)) $(PTX_O) $(FACTS_O) $(EMBEDDED) $(GEN)/ref_list.o
TOOL_O := $(call objects,$(TOOL_C)) $(addprefix $(GEN)/,report_css.o report_js.o man_pages.o)
HOST_REFS_O := $(BUILD)/refs/abi/ref_host.o $(BUILD)/refs/abi/ref_product.o

LIB := $(BUILD)/libcuvet.so
AUDIT := $(BUILD)/libcuvet-audit.so
CORE := $(BUILD)/libcuvet_core.a
TOOL := $(BUILD)/cuvet
TOOL_PARTS := $(BUILD)/libcuvet_tools.a
REFGEN := $(BUILD)/refgen
READY := $(BUILD)/.ready

say = @printf '  %-7s %s\n' $(1) $(2)
quiet := $(if $(V),,@)

include tools/dev/install.mk tools/dev/embed.mk refs/rules.mk tests/softgpu/rules.mk
include $(patsubst %,tests/%/rules.mk,plugin control demo unit bench scenario corpus fuzz) tests/rules.mk

# ---- targets ------------------------------------------------------------------------------------

.PHONY: all help fatbin check gpu-test format docs clean FORCE

## all: libcuvet.so and its auditor, the program cuvet and its manual page
all: $(LIB) $(AUDIT) $(TOOL) $(MAN)

## fatbin: the device code alone
fatbin: $(GEN)/snapshot.fatbin $(GEN)/outlier.fatbin $(GEN)/refs.fatbin $(GEN)/refs_wide.fatbin

## check: every house rule: layers, exports, size, format, headers, documents, linters
check: all
	$(quiet)CUVET_BUILD=$(BUILD) CUDA_INCLUDE=$(CUDA_INCLUDE) CUPTI_INCLUDE=$(CUPTI_INCLUDE) \
	    VARIANT=$(VARIANT) tools/dev/check-all

## gpu-test: the library inside real programs on a real GPU
gpu-test: all
	$(quiet)CUVET_BUILD=$(BUILD) NVCC=$(NVCC) tests/gpu/run.sh $(TESTS)

## format: lay out the sources with clang-format
format:
	$(quiet)tools/dev/check-format --fix

## docs: write the tables of README.md again from their sources
docs: $(TOOL)
	$(quiet)tools/dev/check-docs --fix $(TOOL)

## clean: remove build/
clean:
	$(quiet)rm -rf build

RULES = $(filter Makefile %.mk,$(MAKEFILE_LIST))
help:
	@echo 'make TARGET ... VARIABLE=value ...'
	@sed -n 's/^## \([a-z-]*\): \(.*\)/  \1	\2/p' $(RULES) | expand -t 18
	@echo 'variables'
	@sed -n 's/^## \([A-Z_]*=.*\)/  \1/p' $(RULES)

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
TOOL_EXEC_O = $(filter-out $(BUILD)/shim/%,$(SOFTGPU_EXEC_O)) $(BUILD)/tests/softgpu/driver/module/fatbin.o
$(BUILD)/tools/%.o: INCLUDES += -Itools
$(BUILD)/tools/lift/%.o $(addprefix $(BUILD)/tests/unit/tools/,test_lift.o test_lift_triton.o): INCLUDES += -Itools -Itests/softgpu
$(BUILD)/tools/lift/%.o: C_FLAGS += -O2 -fno-strict-aliasing -ffp-contract=off

$(TOOL): $(TOOL_O) $(CORE) $(HOST_REFS_O) $(TOOL_EXEC_O)
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) -Wl,--gc-sections $(LDFLAGS) -o $@ $(TOOL_O) $(HOST_REFS_O) $(TOOL_EXEC_O) \
	    $(CORE) $(STATIC_LIBS) $(TOOL_LIBS) $(SYSTEM_LIBS)

# The parts of the program that unit tests call.
$(TOOL_PARTS): $(foreach file,$(TOOL_O),$(if $(filter cmd_%.o cuvet.o,$(notdir $(file))),,$(file))) $(TOOL_EXEC_O)
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

# Prints in one sentence what is missing, once for each build folder.
$(READY): tools/dev/check-deps
	$(quiet)mkdir -p $(BUILD) $(GEN)
	$(quiet)NVCC='$(NVCC)' CUDA_INCLUDE='$(CUDA_INCLUDE)' CUPTI_INCLUDE='$(CUPTI_INCLUDE)' \
	    CC='$(CC)' CXX='$(CXX)' tools/dev/check-deps build
	$(quiet)touch $@

-include $(wildcard $(patsubst %.o,%.d,$(SHIM_O) $(TOOL_O)))
