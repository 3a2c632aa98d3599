/** The value of one of a metric's labels, such as `method` or `status`. Prometheus gets a number as text. */
export type LabelValue = string | number

/**
 * Finds one object for every combination of label values, by walking from map to map. That is several times faster than prom-client, which joins all
 * labels into a text at every observation.
 */
export class LabelTree<T> {
  readonly #create: (values: readonly LabelValue[]) => T
  readonly #root = new Map<LabelValue, unknown>()

  /** @param create makes the object for a combination of label values that was not asked for before */
  constructor (create: (values: readonly LabelValue[]) => T) {
    this.#create = create
  }

  /**
   * Gives the object of a combination of label values. The object is made when the combination comes for the first time.
   * @param values one value for each label, always in the same order
   */
  at (...values: readonly LabelValue[]): T {
    let node = this.#root
    const last = values.length - 1
    for (let index = 0; index < last; index++) {
      const value = values[index] as LabelValue
      let next = node.get(value) as typeof node | undefined
      if (next === undefined) node.set(value, next = new Map())
      node = next
    }
    const value = values[last] as LabelValue
    let thing = node.get(value) as T | undefined
    if (thing === undefined) node.set(value, thing = this.#create(values))
    return thing
  }
}
