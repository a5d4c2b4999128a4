# rules.mk - builds a process without a GPU that `cuvet ctl` steers, and the example of a program that steers itself;
# the top-level Makefile includes it.

CONTROL := $(addprefix $(BUILD)/tests/control/,world.so inside)

$(BUILD)/tests/control/world.o: INCLUDES += -Itests
$(BUILD)/tests/control/world.so: $(BUILD)/tests/control/world.o $(BUILD)/tests/unit/fakes/control_world.o \
    $(CORE) $(HOST_REFS_O) shim/exports.map
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) -shared -Wl,--version-script=shim/exports.map -Wl,--gc-sections $(LDFLAGS) \
	    -o $@ $(filter %.o,$^) $(CORE) $(STATIC_LIBS) $(SYSTEM_LIBS)

# An example is compiled as a program's author would.
$(BUILD)/tests/control/inside: tests/control/inside.c shim/cuvet.h | $(READY)
	$(call say,CC,$@)
	$(quiet)mkdir -p $(@D) && $(CC) -std=c11 -D_GNU_SOURCE $(C_WARNINGS) -O2 -g -Ishim -o $@ $< -ldl
