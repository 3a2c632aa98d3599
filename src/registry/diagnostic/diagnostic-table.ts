import { type Diagnostic } from './diagnostic.ts'

/** The explanation of a diagnostic's code, for the person who has to mend the entry. */
export interface DiagnosticMeaning {
  /** The severity of diagnostics with this code; `error or warning` when it depends on the single case. */
  readonly severity: Diagnostic['severity'] | 'error or warning'
  readonly meaning: string
  /** The advice for diagnostics of this code that have no more exact hint of their own. */
  readonly hint: string
}

/** The explanation of every code that a diagnostic can have, when an entry is registered or checked. */
export const DIAGNOSTIC_TABLE: ReadonlyMap<string, DiagnosticMeaning> = new Map(Object.entries({
  // Values and keys
  VALUE_INVALID: { severity: 'error', meaning: 'The stored value cannot be read: broken JSON or YAML, a wrong type in the store, too large, not UTF-8.', hint: 'store valid JSON, or in a file JSON or YAML, as UTF-8 text without a byte order mark' },
  VALUE_NOT_JSON: { severity: 'warning', meaning: 'A shared variable is not JSON, or a prompt looks like a definition in YAML, and is taken as text.', hint: 'write a JSON string, with quotes' },
  KEY_INVALID: { severity: 'error', meaning: 'The key of a shared variable, or the id of an entry that is published over HTTP, cannot be a path: an empty segment, a dot inside a segment, a control character, too many segments; or the key of an entry has no id.', hint: 'rename the key: segments are parted by ":" and hold no "."' },
  KEY_TAKEN: { severity: 'error or warning', meaning: 'The key of a prompt or an extension differs from that of another in "." and ":" only, so that both have one id.', hint: 'remove one of the two keys' },
  NAME_RESERVED: { severity: 'warning', meaning: 'The key of a shared variable begins with what every template has already: variables, args or caller.', hint: 'rename the key' },
  VALUE_SHADOWED: { severity: 'warning', meaning: 'A shared variable is no object, and there are keys below it, which templates find in its place.', hint: 'store an object, or rename one of the keys' },
  SCHEMA: { severity: 'error or warning', meaning: 'An entry breaks the schema of its kind, or two of its fields contradict each other; a warning in the front matter of a skill.', hint: 'validate it against the schema of its kind in jsonschema/' },
  FIELD_UNKNOWN: { severity: 'warning', meaning: 'A member of an entry is spelt nearly like a field, and is not looked at.', hint: 'write the field as the schema in jsonschema/ has it' },
  DEFINITION_UNKNOWN: { severity: 'error or warning', meaning: 'The agent calls or hands over to an agent, a skill or a plan profile that is not registered; a warning when an agent is published.', hint: 'register it, or correct the name' },
  FIELD_UNUSED: { severity: 'warning', meaning: 'A field of an agent does nothing beside another one of its fields.', hint: 'leave one of them out' },

  FRONT_MATTER: { severity: 'error', meaning: 'A SKILL.md has no front matter that can be read, and so no description.', hint: 'begin with ---, name: and description: in YAML, and --- again' },

  // Templates
  SYNTAX: { severity: 'error', meaning: 'The template breaks the rules of its language, or is too large or too deep.', hint: 'correct the template at that place' },
  SYNTAX_MIXED: { severity: 'error', meaning: 'The texts have forms of both template languages, and the prompt does not say which one it is in.', hint: 'write all of it in one of them; where the other is only text, add "syntax": "go" or "syntax": "handlebars" to the prompt' },
  SYNTAX_FOREIGN: { severity: 'warning', meaning: 'A prompt that says that it is in Handlebars has a form of Go, which Handlebars takes for a path or a name.', hint: 'write it in Handlebars, or say "syntax": "go"' },
  TOO_COMPLEX: { severity: 'error or warning', meaning: 'A lint gave up: parsing took too long or too much memory, or there are too many names to look all of them up.', hint: 'split it into smaller prompts' },
  FUNCTION_UNKNOWN: { severity: 'error', meaning: 'A function is called that is no builtin and no registered tool.', hint: 'register the tool, or correct the name' },
  PARTIAL_UNKNOWN: { severity: 'error', meaning: 'A partial is not registered, is invalid, or has more than one message.', hint: 'register a prompt of that id with one text' },
  PARTIAL_CYCLE: { severity: 'error', meaning: 'Partials include each other with no condition on the way, so that a render never ends.', hint: 'put a condition around the inner call, or remove it' },
  ROLE_NESTED: { severity: 'error', meaning: 'A `.prompt` file begins a message, or a part of one, inside a block, where nobody knows before the render whether it is there.', hint: 'write it outside of all blocks' },
  NAME_DIFFERS: { severity: 'warning', meaning: 'A `.prompt` file names another prompt than its path does, which decides.', hint: 'rename the file, or leave the name out' },
  MESSAGE_EMPTY: { severity: 'warning', meaning: 'A message has no content.', hint: 'give the message a content, or remove it' },
  UNREACHABLE: { severity: 'warning', meaning: 'A part of the template can never run: its condition is constant, or it follows a break or continue.', hint: 'remove the part, or make the condition depend on a value' },
  ALWAYS_FAILS: { severity: 'warning', meaning: 'An expression in Go syntax fails whenever it runs: a function is given too few or too many arguments, or a value is given arguments.', hint: 'correct the expression' },

  // Names in templates
  BARE_VARIABLE: { severity: 'hint', meaning: 'A variable is read without "variables." in front; a shared variable of that name would hide it.', hint: 'write "variables." in front of the name, unless a partial is given it' },
  VARIABLE_UNSATISFIABLE: { severity: 'warning', meaning: 'No published shared variable and no declared parameter can give the value.', hint: 'correct the name, publish the shared variable, or declare the parameter' },
  PARAMETER_UNDECLARED: { severity: 'warning', meaning: 'The prompt declares parameters, and reads a variable that is not among them.', hint: 'add it to the parameters, or correct the name' },
  PARAMETER_UNUSED: { severity: 'warning', meaning: 'A parameter is declared, and neither the prompt nor its partials use it.', hint: 'use the parameter, or remove it' },
  PARAMETER_DEFAULT: { severity: 'warning', meaning: 'The default of a parameter is no value of that parameter, so that every render that leaves it out is refused.', hint: 'correct the default, or what the parameter declares' },
  PARAMETERS_INVALID: { severity: 'error', meaning: 'The declared parameters are no list of parameters, no usable JSON Schema and no map of properties.', hint: 'declare them as a list of { name, type }, or as a JSON Schema' },
  RETURNS_INVALID: { severity: 'error', meaning: 'The prompt asks for structured answers, and its "returns" is no usable JSON Schema.', hint: 'describe the answer in "returns", or remove "structured"' },

  // Extensions, and prompts in relation to other entries
  VERSION_MISSING: { severity: 'error', meaning: 'A label means a version that is not in the store, or cannot be read there; what the label meant before is served, if this process has had it.', hint: 'move the label to a version that is there, or store the version again' },
  VERSION_INVALID: { severity: 'warning', meaning: 'The version of an extension is no semantic version.', hint: 'write x.y.z' },
  ENGINE_INCOMPATIBLE: { severity: 'error', meaning: 'The extension asks for another engine, or for another version of this one.', hint: 'correct "engines", or publish for this engine' },
  DEPENDENCE_MISSING: { severity: 'error or warning', meaning: 'Another extension that this one depends on is not registered; an error when it says "abort".', hint: 'register the other extension, or remove the dependence' },
  DEFINITION_SHADOWED: { severity: 'warning', meaning: 'Something else than a prompt that an extension brings has the id of another entry of its kind and gives way to it.', hint: 'rename it, or remove the other' },
  PROMPT_SHADOWED: { severity: 'warning', meaning: 'A prompt of an extension has the id of another prompt and gives way to it.', hint: 'rename the prompt, or remove the other' },

  PROMPT_UNKNOWN: { severity: 'warning', meaning: 'Tests are registered of a prompt that is not there.', hint: 'give the tests the id of their prompt, or register it' },

  // Tools
  PARAMETER_UNKNOWN: { severity: 'error or warning', meaning: 'An agent gives a tool a parameter that the tool does not declare; a warning when it is published.', hint: 'correct the name, or what the tool declares' },
  TOOL_UNKNOWN: { severity: 'error or warning', meaning: 'The prompt, or the agent, offers its model a tool that is not registered; a warning when an agent is published.', hint: 'register the tool, or correct the name' },
  FUNCTION_RESERVED: { severity: 'error', meaning: 'The key of a tool makes a function name that is a builtin of the template languages.', hint: 'give it another key' },
  FUNCTION_INVALID: { severity: 'error', meaning: 'The key of a tool makes a function name that no template can write.', hint: 'give it another key' },
  FUNCTION_TAKEN: { severity: 'error', meaning: 'Another tool has the same function name and a smaller key.', hint: 'give it another key' },
  TOOL_INVALID: { severity: 'error', meaning: 'A tool breaks jsonschema/tool.json, or asks for what the operator does not allow.', hint: 'validate it against jsonschema/tool.json, and ask the operator' },
  TOOL_SCHEMA: { severity: 'error', meaning: 'The parameters or returns of a tool are no usable JSON Schema.', hint: 'declare them as a list of { name, type }, or as a JSON Schema' },
  TOOL_CREDENTIAL_IN_CLEAR: { severity: 'warning', meaning: 'A header of a tool looks like a credential in clear.', hint: 'let the operator define it as a secret, and refer to it by name' },
  TOOL_OFFER_UNUSABLE: { severity: 'warning', meaning: 'A tool that an MCP server offers cannot be used; its other tools can.', hint: 'correct it at the server' },
  TOOL_BASE_URL_MISSING: { severity: 'warning', meaning: 'The url of a tool is relative, and no base URL is known for its module.', hint: 'set TOOL_BASE_URLS or TOOL_BASE_URL, or publish the environ modules:{module}' }
} satisfies Record<string, DiagnosticMeaning>))

/** A diagnostic with a hint and a place. A diagnostic about the whole entry is placed at the entry's beginning, as linters do. */
export type PlacedDiagnostic = Omit<Diagnostic, 'field'> & { readonly line: number, readonly column: number, readonly hint: string }

/** Fills in the hint and the place that a diagnostic lacks. */
export function placed (diagnostic: Diagnostic): PlacedDiagnostic {
  const { line = 1, column = 1, hint = DIAGNOSTIC_TABLE.get(diagnostic.code)?.hint ?? '', field: _, ...rest } = diagnostic
  return { ...rest, line, column, hint }
}
