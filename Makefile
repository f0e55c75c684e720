# The two commands of the README are `make demo` and `make test`; each prepares the machine first.
# PROFILE=lab builds the extension faster and runs it a little slower: for daily work.

PROFILE ?= release
BIN := .venv/bin
export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: attacks demo generate test bench fmt lint fuzz lock licenses audit readme setup sdist wheels

demo: setup
	@$(BIN)/loadstone compare examples/shop.har

test:
	@PROFILE=$(PROFILE) scripts/setup tests
	@scripts/check

# What attacks cost `loadstone serve` and `loadstone edge`, next to other servers: docs/attacks.md, docs/attacks-on-edge.md.
attacks: setup
	@scripts/attacks
	@scripts/attacks --edge

bench:
	@cargo bench -p loadstone-sim -p loadstone-answer

fmt: setup
	@cargo fmt --all
	@$(BIN)/ruff check --fix --quiet .
	@$(BIN)/ruff format --quiet .

lint: setup
	@scripts/check lint

# FUZZ_SECONDS per target, from the inputs in fuzz/corpus; what it finds besides goes to fuzz/found. Needs a nightly
# toolchain and `cargo install cargo-fuzz`.
FUZZ_SECONDS ?= 60
fuzz:
	@cargo +nightly fuzz --version >/dev/null || \
		{ echo "fuzzing needs: rustup toolchain install nightly && cargo install cargo-fuzz" >&2; exit 1; }
	@for target in $$(cargo +nightly fuzz list); do \
		mkdir -p fuzz/found/$$target fuzz/corpus/$$target; \
		cargo +nightly fuzz run $$target fuzz/found/$$target fuzz/corpus/$$target -- \
			-max_total_time=$(FUZZ_SECONDS) || exit 1; \
	done

# The newest versions that pyproject.toml allows, with the hashes of their files, for all supported versions of Python.
# Needs `pip install uv`. The second lock has the versions of the first.
LOCK := uv pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"
lock:
	@$(LOCK) --extra dev --output-file requirements/dev.txt
	@for extra in browser wheels; do \
		$(LOCK) --extra $$extra --constraints requirements/dev.txt --output-file requirements/$$extra.txt || exit 1; \
	done

# For Linux on x86-64 and aarch64, into target/wheels.
wheels:
	@scripts/wheels

# Builds without network where cargo has the sources (`cargo vendor`, or its own store).
sdist: setup
	@$(BIN)/maturin sdist --out target/wheels

# What follows from the engine's definitions of options and columns: types, schema, reference.
generate: setup
	@$(BIN)/python scripts/generate

# What wheels say of the Rust packages in them.
licenses:
	@scripts/licenses

# Known vulnerabilities, licences and sources of what is locked. Needs `cargo install cargo-deny`, `pip install pip-audit`
# and the internet, where the lists of vulnerabilities are.
audit:
	@cargo deny --locked check
	@cargo deny --locked --manifest-path fuzz/Cargo.toml --config deny.toml check advisories bans sources
	@for locked in requirements/*.txt; do pip-audit --strict --disable-pip --requirement $$locked || exit 1; done

readme: setup
	@scripts/readme

setup:
	@PROFILE=$(PROFILE) scripts/setup
