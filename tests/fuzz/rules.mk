# rules.mk - fuzz targets of every reader of texts and bytes; the top-level Makefile includes it.
#
# FUZZ runs the corpus and inputs made of it, with any compiler. `make fuzz` builds the same targets for clang's
# libFuzzer with ASan and UBSan (VARIANT=fuzz).

FUZZ_C := $(sort $(wildcard tests/fuzz/targets*.c))
FUZZ_O := $(call objects,$(FUZZ_C)) $(BUILD)/tests/softgpu/driver/module/fatbin.o \
    $(call objects,$(sort $(wildcard tools/ptx/*.c tools/ptx/*/*.c tools/fuzz/case/*.c)))
FUZZ := $(BUILD)/tests/fuzz/fuzz
FUZZ_SEEDS := $(BUILD)/tests/fuzz/corpus
FUZZ_CONTROL_O := $(call objects,$(filter shim/control/control.c shim/control/control_words.c,$(SHIM_C)))
$(BUILD)/tests/fuzz/%.o: INCLUDES += -Itests/softgpu -Itools

$(FUZZ) $(BUILD)/tests/fuzz/libfuzzer: $(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(FUZZ_O) $(TOOL_PARTS) $(CORE)
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) $(FUZZ_LINK) $(LDFLAGS) -o $@ $< $(FUZZ_O) $(TOOL_PARTS) $(CORE) $(STATIC_LIBS) \
	    $(TOOL_LIBS) $(SYSTEM_LIBS)
$(BUILD)/tests/fuzz/libfuzzer: FUZZ_LINK = -fsanitize=fuzzer -lstdc++

# The tracked corpus, with the inputs that are no text.
$(FUZZ_SEEDS)/.made: $(FUZZ) $(wildcard tests/fuzz/corpus/*/*) $(GEN)/snapshot.fatbin
	$(quiet)rm -rf $(@D) && mkdir -p $(@D) && cp -r tests/fuzz/corpus/. $(@D) && \
	    FUZZ_IMAGE=$(GEN)/snapshot.fatbin $(FUZZ) --seeds $(@D) && touch $@

# clang 16 at least: an older one has no _Float16 on x86-64 without options of the processor.
FUZZ_CC ?= $(firstword $(foreach c,clang-21 clang-20 clang-19 clang-18 clang-17 clang-16,$(shell command -v $(c))) clang)
.PHONY: fuzz fuzz-run
## fuzz: every fuzz target under clang's libFuzzer, FUZZ_SECONDS (600) each (FUZZ_TARGETS="word ..." picks)
fuzz:
	$(quiet)$(MAKE) --no-print-directory VARIANT=fuzz CC=$(FUZZ_CC) CXX=$(subst clang,clang++,$(FUZZ_CC)) fuzz-run
fuzz-run: $(BUILD)/tests/fuzz/libfuzzer $(FUZZ_SEEDS)/.made
	$(quiet)tests/fuzz/run.sh $(BUILD)/tests/fuzz $(FUZZ_TARGETS)

-include $(patsubst %.o,%.d,$(call objects,$(wildcard tests/fuzz/*.c)))
