/** Where this engine may differ from Go's text/template; each rule can be set on its own. */
export interface GoRules {
  /**
   * What a field gives that is not there. `absent`: a value that may be tested but not used (docs/templates.md, Missing values).
   * The others are Go's option `missingkey`: `invalid` prints `<no value>`, `zero` is nil, `error` ends the render.
   */
  readonly missingKey: 'absent' | 'invalid' | 'zero' | 'error'
  /** Null prints as empty text instead of `<no value>` or `<nil>`; inside lists and maps it stays `<nil>`. */
  readonly emptyNull: boolean
  /** `%f`, `%e` and `%g` accept integers: `printf "%.2f" 3`. */
  readonly floatVerbsTakeIntegers: boolean
  /** `slice` takes an index that comes straight out of a map, which Go refuses: `slice .list 0 .count`. */
  readonly sliceTakesFields: boolean
  /** An unknown function is a tool, an unknown template a partial: both are linked later. Go calls them mistakes. */
  readonly openNames: boolean
  /** `default fallback value`, evaluated like `and` and `or`. */
  readonly defaultForm: boolean
  /** `range` over an integer, which Go has since 1.24. */
  readonly rangeOverIntegers: boolean
  /** A template's text is valid Unicode once nothing of Go's is put beside it any more. Go's is bytes. */
  readonly unicodeOutput: boolean
  /** How deep templates may call each other; `undefined` leaves it to the run. */
  readonly maxTemplateDepth: number | undefined
  /** How deep parentheses, and how deep blocks may nest. */
  readonly maxNesting: { readonly parentheses: number, readonly blocks: number, readonly elseChain: number }
  /** Messages are Go's in full, with template, line and node, instead of the reason alone. */
  readonly goMessages: boolean
}

/** What the service runs with. */
export const SERVICE_RULES: GoRules = {
  missingKey: 'absent',
  emptyNull: true,
  floatVerbsTakeIntegers: true,
  sliceTakesFields: true,
  openNames: true,
  defaultForm: true,
  rangeOverIntegers: true,
  unicodeOutput: true,
  maxTemplateDepth: undefined,
  maxNesting: { parentheses: 100, blocks: 100, elseChain: 500 },
  goMessages: false
}

/** Go 1.23 as it is. Rendering very deep templates needs a large stack. */
export const GO_RULES: GoRules = {
  missingKey: 'invalid',
  emptyNull: false,
  floatVerbsTakeIntegers: false,
  sliceTakesFields: false,
  openNames: false,
  defaultForm: false,
  rangeOverIntegers: false,
  unicodeOutput: false,
  maxTemplateDepth: 100_000,
  maxNesting: { parentheses: 10_000, blocks: 100_000, elseChain: 100_000 },
  goMessages: true
}
