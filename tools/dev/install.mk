# install.mk - manual pages, and what `make install` puts where; the top-level Makefile includes it.

MAN := $(BUILD)/cuvet.1

.PHONY: install uninstall
$(MAN): tools/cuvet.1 $(TOOL)
	$(call say,MAN,$@)
	$(quiet)$(TOOL) help options --man > $@.options
	$(quiet)$(TOOL) help verbs --man > $@.verbs
	$(quiet)sed -e 's/@VERSION@/$(VERSION)/' -e '/@OPTIONS@/{r $@.options' -e 'd}' -e '/@VERBS@/{r $@.verbs' -e 'd}' $< > $@

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
