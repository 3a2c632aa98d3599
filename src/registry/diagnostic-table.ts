import { type Diagnostic } from './diagnostic.ts'

interface DiagnosticMeaning {
  readonly severity: Diagnostic['severity'] | 'error or warning'
  readonly meaning: string
  readonly hint: string
}

export const DIAGNOSTIC_TABLE: ReadonlyMap<string, DiagnosticMeaning> = new Map(Object.entries({
  VALUE_INVALID: { severity: 'error', meaning: 'The value is broken JSON or YAML, of a wrong type in the store, too large, or not UTF-8.', hint: 'store valid JSON, or in a file JSON or YAML, as UTF-8 text without a byte order mark' },
  VALUE_NOT_JSON: { severity: 'warning', meaning: 'A shared variable that is no JSON, or a prompt that looks like YAML, is taken as text.', hint: 'write a JSON string, with quotes' },
  KEY_INVALID: { severity: 'error', meaning: 'A key or id has an empty segment or too many, a dot inside one, a control character, or no id.', hint: 'rename the key: segments are parted by ":" and hold no "."' },
  KEY_TAKEN: { severity: 'error or warning', meaning: 'Two keys of prompts or extensions differ in "." and ":" only, and make one id.', hint: 'remove one of the two keys' },
  NAME_RESERVED: { severity: 'warning', meaning: 'The key of a shared variable begins with variables, args or caller, which every template has.', hint: 'rename the key' },
  VALUE_SHADOWED: { severity: 'warning', meaning: 'A shared variable is no object, and keys below it hide it.', hint: 'store an object, or rename one of the keys' },
  SCHEMA: { severity: 'error or warning', meaning: 'An entry breaks the schema of its kind, or its fields contradict each other; a warning in a skill\'s front matter.', hint: 'validate it against the schema of its kind in jsonschema/' },
  FIELD_UNKNOWN: { severity: 'warning', meaning: 'A member is spelt nearly like a field, and is not looked at.', hint: 'write the field as the schema in jsonschema/ has it' },
  DEFINITION_UNKNOWN: { severity: 'error or warning', meaning: 'An agent refers to an agent, a skill or a plan profile that is not registered; a warning when it is published.', hint: 'register it, or correct the name' },
  FIELD_UNUSED: { severity: 'warning', meaning: 'A field of an agent does nothing beside another one.', hint: 'leave one of them out' },

  FRONT_MATTER: { severity: 'error', meaning: 'A SKILL.md has no readable front matter, and so no description.', hint: 'begin with ---, name: and description: in YAML, and --- again' },

  SYNTAX: { severity: 'error', meaning: 'The template breaks the rules of its language, or is too large or too deep.', hint: 'correct the template at that place' },
  SYNTAX_MIXED: { severity: 'error', meaning: 'The texts have forms of both languages, and the prompt does not say which it is in.', hint: 'write all of it in one of them; where the other is only text, add "syntax": "go" or "syntax": "handlebars" to the prompt' },
  SYNTAX_FOREIGN: { severity: 'warning', meaning: 'A prompt declared as Handlebars has a form of Go, which is taken for a path or name.', hint: 'write it in Handlebars, or say "syntax": "go"' },
  TOO_COMPLEX: { severity: 'error or warning', meaning: 'A lint gave up: parsing took too much time or memory, or names are too many.', hint: 'split it into smaller prompts' },
  FUNCTION_UNKNOWN: { severity: 'error', meaning: 'A function is neither builtin nor a registered tool.', hint: 'register the tool, or correct the name' },
  PARTIAL_UNKNOWN: { severity: 'error', meaning: 'A partial is not registered, is invalid, or has more than one message.', hint: 'register a prompt of that id with one text' },
  PARTIAL_CYCLE: { severity: 'error', meaning: 'Partials include each other without a condition, so that a render never ends.', hint: 'put a condition around the inner call, or remove it' },
  ROLE_NESTED: { severity: 'error', meaning: 'A `.prompt` file begins a message, or a part of one, inside a block.', hint: 'write it outside of all blocks' },
  NAME_DIFFERS: { severity: 'warning', meaning: 'A `.prompt` file names another prompt than its path, which decides.', hint: 'rename the file, or leave the name out' },
  MESSAGE_EMPTY: { severity: 'warning', meaning: 'A message has no content.', hint: 'give the message a content, or remove it' },
  UNREACHABLE: { severity: 'warning', meaning: 'A part of the template never runs: a constant condition, or after break or continue.', hint: 'remove the part, or make the condition depend on a value' },
  ALWAYS_FAILS: { severity: 'warning', meaning: 'An expression in Go syntax always fails: a function has too few or many arguments, or a value has any.', hint: 'correct the expression' },

  BARE_VARIABLE: { severity: 'hint', meaning: 'A variable is read without "variables."; a shared variable of that name would hide it.', hint: 'write "variables." in front of the name, unless a partial is given it' },
  VARIABLE_UNSATISFIABLE: { severity: 'warning', meaning: 'No shared variable and no declared parameter can give the value.', hint: 'correct the name, publish the shared variable, or declare the parameter' },
  PARAMETER_UNDECLARED: { severity: 'warning', meaning: 'The prompt reads a variable that is not among its declared parameters.', hint: 'add it to the parameters, or correct the name' },
  PARAMETER_UNUSED: { severity: 'warning', meaning: 'Neither prompt nor partials use a declared parameter.', hint: 'use the parameter, or remove it' },
  PARAMETER_DEFAULT: { severity: 'warning', meaning: 'A parameter\'s default is no value of it: renders that leave it out are refused.', hint: 'correct the default, or what the parameter declares' },
  PARAMETERS_INVALID: { severity: 'error', meaning: 'The declared parameters are no list, no usable JSON Schema and no map of properties.', hint: 'declare them as a list of { name, type }, or as a JSON Schema' },
  RETURNS_INVALID: { severity: 'error', meaning: 'The prompt asks for structured answers, and "returns" is no usable JSON Schema.', hint: 'describe the answer in "returns", or remove "structured"' },

  VERSION_MISSING: { severity: 'error', meaning: 'A label means a version that is not there; what it meant before is served, if this process has had it.', hint: 'move the label to a version that is there, or store the version again' },
  VERSION_INVALID: { severity: 'warning', meaning: 'The version of an extension is no semantic version.', hint: 'write x.y.z' },
  ENGINE_INCOMPATIBLE: { severity: 'error', meaning: 'The extension asks for another engine or version of it.', hint: 'correct "engines", or publish for this engine' },
  DEPENDENCE_MISSING: { severity: 'error or warning', meaning: 'An extension that this one needs is not registered; an error with "abort".', hint: 'register the other extension, or remove the dependence' },
  DEFINITION_SHADOWED: { severity: 'warning', meaning: 'An entry of an extension that is no prompt gives way to another one of its kind and id.', hint: 'rename it, or remove the other' },
  PROMPT_SHADOWED: { severity: 'warning', meaning: 'A prompt of an extension gives way to another prompt of its id.', hint: 'rename the prompt, or remove the other' },

  PROMPT_UNKNOWN: { severity: 'warning', meaning: 'The prompt of registered tests is not there.', hint: 'give the tests the id of their prompt, or register it' },

  PARAMETER_UNKNOWN: { severity: 'error or warning', meaning: 'An agent gives a tool an undeclared parameter; a warning when it is published.', hint: 'correct the name, or what the tool declares' },
  TOOL_UNKNOWN: { severity: 'error or warning', meaning: 'A prompt or an agent offers its model a tool that is not registered; a warning when an agent is published.', hint: 'register the tool, or correct the name' },
  FUNCTION_RESERVED: { severity: 'error', meaning: 'The key of a tool makes the name of a builtin function.', hint: 'give it another key' },
  FUNCTION_INVALID: { severity: 'error', meaning: 'The key of a tool makes a name that no template can write.', hint: 'give it another key' },
  FUNCTION_TAKEN: { severity: 'error', meaning: 'Another tool has the same function name and a smaller key.', hint: 'give it another key' },
  TOOL_INVALID: { severity: 'error', meaning: 'A tool breaks jsonschema/tool.json, or asks for what the operator does not allow.', hint: 'validate it against jsonschema/tool.json, and ask the operator' },
  TOOL_SCHEMA: { severity: 'error', meaning: 'The parameters or returns of a tool are no usable JSON Schema.', hint: 'declare them as a list of { name, type }, or as a JSON Schema' },
  TOOL_CREDENTIAL_IN_CLEAR: { severity: 'warning', meaning: 'A header of a tool looks like a credential in clear.', hint: 'let the operator define it as a secret, and refer to it by name' },
  TOOL_OFFER_UNUSABLE: { severity: 'warning', meaning: 'A tool that an MCP server offers cannot be used; its other tools can.', hint: 'correct it at the server' },
  TOOL_BASE_URL_MISSING: { severity: 'warning', meaning: 'The url of a tool is relative, and its module has no base URL.', hint: 'set TOOL_BASE_URLS or TOOL_BASE_URL, or publish the environ modules:{module}' }
} satisfies Record<string, DiagnosticMeaning>))

/** A diagnostic about the whole entry stands at its beginning, as with linters. */
export type PlacedDiagnostic = Omit<Diagnostic, 'field'> & { readonly line: number, readonly column: number, readonly hint: string }

export function placed (diagnostic: Diagnostic): PlacedDiagnostic {
  const { line = 1, column = 1, hint = DIAGNOSTIC_TABLE.get(diagnostic.code)?.hint ?? '', field: _, ...rest } = diagnostic
  return { ...rest, line, column, hint }
}
