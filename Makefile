# make demo      run the main job on Aurora (makes the environment first)
# make test      run the tests (makes the environment first); test-all takes the slow ones along
# make check     formatter, linter and type checker
# make reranker  train the reranker that comes along, again, from data/training
# make benchmark speed and memory beside other tools

PYTHON ?= python3
TORCH := 2.13.0
# Where pip would take a CUDA build of torch, name an index that has the CPU build:
# make setup TORCH_INDEX_URL=...
TORCH_INDEX_URL ?=
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: setup demo test test-all check reranker benchmark clean
setup: $(READY)

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; ok = (3, 11) <= sys.version_info[:2] <= (3, 13); sys.exit(0 if ok else "bench needs Python 3.11 to 3.13, not " + sys.version.split()[0] + ": make setup PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -W ignore -c 'import torch' 2>/dev/null || { \
	  $(BIN)/pip install --quiet --dry-run --report $(VENV)/torch.json torch==$(TORCH) $(if $(TORCH_INDEX_URL),--index-url $(TORCH_INDEX_URL)) && \
	  if grep -Eq '"name": "(nvidia|cuda)-' $(VENV)/torch.json; then \
	    echo "pip would take a CUDA build of torch (several GB). Name an index that has the CPU build," >&2; \
	    echo "as given on the PyTorch site under Get Started, Compute Platform: CPU:" >&2; \
	    echo "    make setup TORCH_INDEX_URL=<index>" >&2; exit 1; fi && \
	  echo "installing torch $(TORCH), CPU build" && \
	  $(BIN)/pip install --quiet torch==$(TORCH) $(if $(TORCH_INDEX_URL),--index-url $(TORCH_INDEX_URL)); }
	@$(BIN)/python -W ignore -c 'import sys, torch; sys.exit(f"{torch.__version__} is a CUDA build of torch: remove $(VENV) and set TORCH_INDEX_URL to an index with the CPU build" if torch.version.cuda else 0)'
	@echo 'installing bench and what it needs'
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $(READY)

demo: setup
	$(BIN)/python -m bench retriever=faiss k=5

test: setup
	$(BIN)/python -m pytest -q -n 2 -m "not slow"

test-all: setup
	$(BIN)/python -m pytest -q -n 2

check: setup
	$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy

reranker: setup
	$(BIN)/python -m bench train reranker collection=training train.within=company train.parts=20

benchmark: setup
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/intervals.py
	$(BIN)/python benchmarks/rerankers.py

clean:
	rm -rf $(VENV) outputs/*/
