# embed.mk - files inside the library and the program; the top-level Makefile includes it.

# embed NAME FILE SYMBOL SIZE-SYMBOL: the file's bytes as an object, NAME.o.
define embed
$(GEN)/$(1).S: tools/dev/embed tools/dev/embed.mk | $(READY)
	$$(quiet)tools/dev/embed $(2) $(3) $(4) > $$@
$(GEN)/$(1).o: $(2)
endef
# embed_table NAME SYMBOL FILES: a table of files by their names.
define embed_table
$(GEN)/$(1).S: tools/dev/embed-table tools/dev/embed.mk $(3) | $(READY)
	$$(quiet)tools/dev/embed-table $(2) $(3) > $$@
$(GEN)/$(1).o: $(3)
endef
embed_as = $(eval $(call embed,$(1),$(2),cuvet_$(3),cuvet_$(3)_$(or $(4),size)))

$(foreach part,snapshot outlier refs refs_wide,$(call embed_as,$(part),$(GEN)/$(part).fatbin,$(part)_fatbin))
$(call embed_as,lift,$(GEN)/lift.ptx,lift_ptx)
$(GEN)/lift.ptx: shim/lift/lift_product.cuh shim/lift/bulk/lift_bulk.cuh shim/lift/loaded/lift_table.cuh \
  shim/lift/rounded/lift_between.cuh
$(call embed_as,tables,$(GEN)/tables.bin,tables)
$(foreach kind,css js,$(call embed_as,report_$(kind),tools/report/formats/page.$(kind),report_$(kind)))
$(eval $(call embed_table,ref_headers,cuvet_ref_headers,$(REF_HEADERS)))
$(eval $(call embed_table,man_pages,cuvet_man_pages,$(sort $(wildcard tools/man/*.md)) config/README.md))

# The tables of the library, parsed.
TABLEGEN := $(BUILD)/tablegen
TABLEGEN_O := $(call objects,tools/dev/tablegen.c $(addprefix shim/,names/name_need.c names/symbol.c \
    system/yaml_doc.c system/files.c system/own_fd.c system/write_guard.c base/arena.c base/error.c text/number.c text/printable.c text/textbuf.c text/utf8.c))
$(TABLEGEN): $(TABLEGEN_O)
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) $(LDFLAGS) -o $@ $^ $(STATIC_LIBS) -lm
$(GEN)/tables.bin: $(TABLEGEN) config/tolerances.yaml $(TABLES)
	$(call say,TABLES,$@)
	$(quiet)$(TABLEGEN) $@ config/tolerances.yaml $(TABLES)
-include $(BUILD)/tools/dev/tablegen.d

$(GEN)/%.o: $(GEN)/%.S
	$(call say,EMBED,$@)
	$(quiet)$(CC) -c -o $@ $<
