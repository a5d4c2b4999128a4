# rules.mk - builds the unit tests; the top-level Makefile includes it.
#
# One binary a room, tests/unit/ROOM/room (room.c), of which each test_NAME beside it is a hard link that runs
# the tests of test_NAME.c.

UNIT_C := $(sort $(wildcard tests/unit/*/test_*.c))
UNIT_HELPER_C := $(filter-out $(UNIT_C),$(sort $(wildcard tests/unit/*/*.c)))
UNIT_HELPER_CPP := $(sort $(wildcard tests/unit/*/*.cpp))
UNIT_HELPER_O := $(call objects,$(UNIT_HELPER_C)) $(patsubst %.cpp,$(BUILD)/%.o,$(UNIT_HELPER_CPP))
UNIT_BIN := $(patsubst %.c,$(BUILD)/%,$(UNIT_C))
UNIT_RUN := $(if $(TESTS),$(foreach word,$(TESTS),$(foreach bin,$(UNIT_BIN),$(if \
    $(findstring $(word),$(notdir $(bin))),$(bin)))),$(UNIT_BIN))

.PHONY: unit outlier-table entry-cost
## unit: the unit tests alone
unit: $(UNIT_BIN) $(TOOL) $(PLUGINS)
	$(quiet)tests/run_unit.sh $(UNIT_RUN)

## outlier-table: what the detectors of the outlier gate find, and their false alarms
outlier-table: $(BUILD)/tests/unit/extra/test_outlier
	$(quiet)$< --table

## entry-cost: what a wrapped launch costs beyond the driver's, in ns; no GPU
entry-cost: $(BUILD)/tests/unit/hook/test_entry
	$(quiet)$< --cost

# Of the many functions that ref_dtype.h and ref_exponential.h have, a few.
$(patsubst %.cpp,$(BUILD)/%.o,$(UNIT_HELPER_CPP)): CXX_FLAGS += -Wno-unused-function

# The core archive holds nothing of hook/.
ENTRY_O := $(call objects,$(wildcard shim/hook/entry*.c) shim/hook/launch_decode.c)
CUDNN_PLAN_O := $(call objects,$(addprefix shim/hook/calls/,descriptors.c cudnn_plan.c cudnn_conv.c cudnn_attention.c))
UNIT_MORE_hook := $(ENTRY_O) $(CUDNN_PLAN_O)

# These define functions of the library, or of libc, themselves: a binary each.
UNIT_APART := $(addprefix $(BUILD)/tests/unit/,hook/test_launch_decode hook/test_router hook/test_router_threads \
    pipeline/test_paying report/test_journal_file tables/test_made_tables)

# Most tests take longer to compile than to run. These do not: they compute what references or detectors do. Those of
# shim/core/core_probe.h get a false warning from gcc 12 at -Og.
UNIT_OPTIMISED := $(addprefix tests/unit/,refs/% ref_formats/% ref_host/% extra/% common/% fakes/% hook/% pipeline/test_paying.c)
ifeq ($(VARIANT),release)
$(call objects,$(filter-out $(UNIT_OPTIMISED),$(UNIT_C) $(UNIT_HELPER_C))): OPTIMISE := -Og
endif

define unit_link
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) $(LDFLAGS) -o $@ $(filter-out $(HOST_REFS_O),$(filter %.o,$^)) $(HOST_REFS_O) \
	    $(TOOL_PARTS) $(CORE) $(STATIC_LIBS) $(TOOL_LIBS) -lcmocka $(SYSTEM_LIBS)
endef
UNIT_LIBS := $(UNIT_HELPER_O) $(TOOL_PARTS) $(CORE) $(HOST_REFS_O)
# Two small tables in the place of the library's.
MADE_TABLES := $(addprefix tests/unit/tables/,first.yaml second.yaml)
$(GEN)/made_tables.bin: $(TABLEGEN) config/tolerances.yaml $(MADE_TABLES)
	$(quiet)$(TABLEGEN) $@ config/tolerances.yaml $(MADE_TABLES)
$(call embed_as,made_tables,$(GEN)/made_tables.bin,tables)
$(BUILD)/tests/unit/tables/test_made_tables: $(GEN)/made_tables.o
$(UNIT_APART): %: %.o $(UNIT_LIBS)
	$(unit_link)

# A test's main has its name in its room. The compiler's own objcopy: it may compile for another processor.
OBJCOPY ?= $(shell $(CC) -print-prog-name=objcopy)
$(BUILD)/tests/unit/%.group.o: $(BUILD)/tests/unit/%.o
	$(quiet)$(OBJCOPY) --redefine-sym main=main_$(notdir $*) $< $@

# unit_room ROOM BINARIES
define unit_room
$(BUILD)/tests/unit/$(1)/room.o: tests/unit/room.c $(patsubst $(BUILD)/%,%.c,$(2)) tests/unit/rules.mk | $(READY)
	$$(call say,CC,$$@)
	$$(quiet)mkdir -p $$(@D) && $$(CC) $$(C_FLAGS) $$(CFLAGS) -D'ROOM_GROUPS=$(foreach bin,$(2),GROUP($(notdir $(bin))))' -c -o $$@ $$<
$(BUILD)/tests/unit/$(1)/room: $(BUILD)/tests/unit/$(1)/room.o $(2:=.group.o) $(UNIT_MORE_$(1)) $(UNIT_LIBS)
	$$(unit_link)
$(2): $(BUILD)/tests/unit/$(1)/room
	$$(quiet)ln -f $$< $$@
endef
$(foreach room,$(sort $(notdir $(patsubst %/,%,$(dir $(UNIT_BIN))))),$(eval $(call unit_room,$(room),$(filter-out \
    $(UNIT_APART),$(filter $(BUILD)/tests/unit/$(room)/%,$(UNIT_BIN))))))

$(call objects,$(UNIT_C)): | $(BUILD)/.ready-tests
$(BUILD)/.ready-tests: tools/dev/check-deps | $(READY)
	$(quiet)CC='$(CC)' CXX='$(CXX)' tools/dev/check-deps tests
	$(quiet)touch $@

-include $(wildcard $(patsubst %.o,%.d,$(call objects,$(UNIT_C)) $(UNIT_HELPER_O)))
