# berth: `make demo` shows it, `make test` tests it. `make help` lists the rest.
SHELL       := /bin/bash
export CGO_ENABLED := 0
GO          ?= go
VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT      ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
GUESTS      := shared/guestbin/bin
LDFLAGS     := -s -w -X github.com/berth-dev/berth/shared/version.Version=$(VERSION) -X github.com/berth-dev/berth/shared/version.Commit=$(COMMIT)
BUILD       := $(GO) build -trimpath -buildvcs=false

# The processor of the functions: arm64 costs less on Lambda.
ARCH        ?= arm64

# What AWS is told: CONTEXT='-c installation=prod -c domain=api.example.com ...'
CONTEXT     ?=
INSTALLATION = $(or $(patsubst installation=%,%,$(filter installation=%,$(CONTEXT))),berth)
CDK          = cd infra && "$$(../scripts/nodetools.sh)/cdk"

.PHONY: help build guests functions demo test check fmt bench docs providers clean synth diff deploy bootstrap destroy emulate emulate-down

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

guests: ## build the in-sandbox guest for linux/amd64 and arm64
	@echo 'building the guests (the first time after a clone takes minutes)' >&2
	@for arch in amd64 arm64; do \
	  GOOS=linux GOARCH=$$arch $(BUILD) -ldflags '-s -w' -o $(GUESTS)/.new-$$arch ./cmd/berth-guest && \
	  mv $(GUESTS)/.new-$$arch $(GUESTS)/berth-guest-linux-$$arch || exit 1; \
	done

build: guests ## build bin/berth and bin/berth-agent with the guests embedded
	@echo 'building bin/berth' >&2
	@$(BUILD) -ldflags '$(LDFLAGS)' -o bin/berth ./cmd/berth
	@echo 'building bin/berth-agent' >&2
	@GOOS=linux $(BUILD) -ldflags '$(LDFLAGS)' -o bin/berth-agent ./cmd/berth-agent

functions: ## build bin/functions/KIND/NAME.zip, one a Lambda function (ARCH=arm64 or amd64)
	@rm -rf bin/functions bin/programs
	@for kind in api runner events; do \
	  GOOS=linux GOARCH=$(ARCH) $(BUILD) -tags lambda.norpc -ldflags '$(LDFLAGS)' -o bin/programs/$$kind/ ./functions/$$kind/... || exit 1; \
	done
	@$(GO) run ./scripts/packfunctions bin/programs bin/functions
	@rm -rf bin/programs

demo: build ## see a real run in a named environment, from nothing
	@scripts/demo.sh

test: build ## every test that this machine can run; says what it skipped and why
	@scripts/test.sh

check: ## format, vet, lint, quick tests and cross builds: no Docker, network, AWS or Python
	@scripts/check.sh

fmt: ## format the code
	@$(GO) tool gofumpt -w $$(git ls-files '*.go')

bench: build ## ratios against their anchors, side by side
	@scripts/bench.sh

synth: functions ## write the templates of the AWS deployment into infra/cdk.out; needs no account
	@$(CDK) synth --quiet -c arch=$(ARCH) $(CONTEXT)

diff: functions ## show what a deployment would change (CONTEXT='-c NAME=VALUE ...', see docs/aws.md)
	@$(CDK) diff -c arch=$(ARCH) $(CONTEXT)

deploy: functions ## deploy to the AWS account of your profile, and give the first key (CONTEXT as for diff)
	@$(CDK) deploy --all -c arch=$(ARCH) $(CONTEXT)
	@$(GO) run ./scripts/bootstrap -once -installation $(INSTALLATION)

bootstrap: ## give a deployed installation its first key (FORCE=1 when all are lost)
	@$(GO) run ./scripts/bootstrap -installation $(INSTALLATION) $(if $(FORCE),-force)

destroy: functions ## remove the deployment; the table and the bucket stay (see docs/aws.md)
	@$(CDK) destroy --all -c arch=$(ARCH) $(CONTEXT)

emulate: ## run berth on an emulator of AWS (EMULATOR=localstack or ministack, PORT=4566; see docs/localstack.md)
	@EMULATOR=$(EMULATOR) PORT=$(PORT) scripts/emulate.sh up

emulate-down: ## end what make emulate started
	@scripts/emulate.sh down

providers: guests ## rewrite docs/providers.md from a run of the contract suite on every provider
	@mkdir -p .cache && $(GO) test -json -timeout 40m -run 'Keeps?TheContract' ./shared/sandbox/... >.cache/contract.json || \
	  { $(GO) run ./scripts/testreport <.cache/contract.json; exit 1; }
	@$(GO) run ./scripts/gendocs -suite .cache/contract.json

docs: ## rewrite the generated documents
	@$(GO) run ./scripts/gendocs
	@$(GO) run ./scripts/genopenapi
	@$(GO) test -short ./functions -update >/dev/null

clean: ## remove what was built
	@rm -rf bin .cache infra/cdk.out $(GUESTS)/berth-guest-*
