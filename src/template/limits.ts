/** How much one run may take (docs/templates.md, Bounds). */
export interface Limits {
  /** Nodes visited over all passes; also elements and 64-byte pieces that functions handle. */
  readonly visits: number
  /** Length of one rendered text, in UTF-16 units. */
  readonly output: number
  /** Partials within partials, templates within templates. */
  readonly depth: number
  /** Distinct tool calls. */
  readonly calls: number
  /** All shared variables that are looked at, in bytes of the store. */
  readonly environs: number
}

/** What every render may take. */
export const DEFAULT_LIMITS: Limits = { visits: 500_000, output: 1024 * 1024, depth: 100, calls: 100, environs: 8 * 1024 * 1024 }
