/** One sample of Prometheus' text format. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Reads Prometheus' text format. */
export function parseMetrics (text: string): Sample[] {
  return text.split('\n').flatMap(line => {
    const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (name === undefined || value === undefined) return []
    return [{ name, labels: Object.fromEntries(Array.from(labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g), ([, key, text]) => [key as string, text as string])), value: Number(value.replace('Inf', 'Infinity')) }]
  })
}

/** The sum of all samples of a name whose labels are these and any others. */
export function sumOf (samples: readonly Sample[], name: string, labels: Readonly<Record<string, string>> = {}): number {
  return samples
    .filter(sample => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
    .reduce((sum, { value }) => sum + value, 0)
}
