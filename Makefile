# The targets that the plan protocol names; everything else is an npm script.
.PHONY: golden test-protocol

golden:
	npm run --silent golden

test-protocol:
	npm run --silent test-protocol
