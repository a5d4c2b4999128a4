# rules.mk - builds the plugins of the tests; the top-level Makefile includes it.

PLUGINS := $(addprefix $(BUILD)/tests/plugin/,told.so throws.so)

# Plugins are built as their authors would, with the installed header alone.
$(BUILD)/tests/plugin/%.so: tests/plugin/%.c shim/cuvet_plugin.h | $(READY)
	$(call say,CC,$@)
	$(quiet)mkdir -p $(@D) && $(CC) -Wall -Wextra -shared -fPIC -O2 -Ishim -o $@ $<
$(BUILD)/tests/plugin/%.so: tests/plugin/%.cpp shim/cuvet_plugin.h | $(READY)
	$(call say,CXX,$@)
	$(quiet)mkdir -p $(@D) && $(CXX) -Wall -Wextra -shared -fPIC -O2 -Ishim -o $@ $<
