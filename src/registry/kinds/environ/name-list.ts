/**
 * Names in one piece of memory, sorted by their UTF-8 bytes, without repeats, never changed. A million names of 30 bytes
 * take 34 MB, and the garbage collector has two objects to look at; as texts they would take 64 MB and a million.
 */
export class NameList {
  static readonly empty = new NameList(Buffer.alloc(0), Uint32Array.of(0))

  readonly #bytes: Buffer
  /** Where each name begins; one more than there are names. */
  readonly #starts: Uint32Array

  /** @param starts where each name begins in `bytes`, and where the last one ends */
  constructor (bytes: Buffer, starts: Uint32Array) {
    this.#bytes = bytes
    this.#starts = starts
  }

  /** Packs names; few enough to be sorted in one go. */
  static of (names: readonly string[]): NameList {
    const sorted = [...names].sort(compareNames)
    const starts = new Uint32Array(sorted.length + 1)
    for (const [index, name] of sorted.entries()) starts[index + 1] = (starts[index] as number) + Buffer.byteLength(name)
    return new NameList(Buffer.from(sorted.join('')), starts)
  }

  get length (): number {
    return this.#starts.length - 1
  }

  get byteLength (): number {
    return this.#bytes.length
  }

  /** The name at a position that exists. */
  at (index: number): string {
    return this.#bytes.toString('utf8', this.#starts[index], this.#starts[index + 1])
  }

  has (name: string): boolean {
    const wanted = Buffer.from(name)
    const index = this.#from(wanted)
    return index < this.length && this.#compare(index, wanted) === 0
  }

  /** Where the first name that is not before `name` stands; `length` if there is none. */
  from (name: string): number {
    return this.#from(Buffer.from(name))
  }

  /** Copies a name to the end of what `target` has so far. */
  copyTo (target: NameWriter, index: number): void {
    target.write(this.#bytes, this.#starts[index] as number, this.#starts[index + 1] as number)
  }

  /** Below 0 when the name at `index` comes before the other list's one, 0 when they are equal. */
  compareAt (index: number, other: NameList, otherIndex: number): number {
    return compareBytes(
      this.#bytes,
      this.#starts[index] as number,
      this.#starts[index + 1] as number,
      other.#bytes,
      other.#starts[otherIndex] as number,
      other.#starts[otherIndex + 1] as number
    )
  }

  #from (wanted: Buffer): number {
    let low = 0
    let high = this.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#compare(middle, wanted) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  #compare (index: number, wanted: Buffer): number {
    return compareBytes(this.#bytes, this.#starts[index] as number, this.#starts[index + 1] as number, wanted, 0, wanted.length)
  }
}

/** Makes a list from names that come in order. */
export class NameWriter {
  readonly #bytes: Buffer
  readonly #starts: Uint32Array
  #count = 0
  #end = 0

  /** @param bytes how many there can be at most, as with `names` */
  constructor (names: number, bytes: number) {
    this.#bytes = Buffer.allocUnsafeSlow(bytes)
    this.#starts = new Uint32Array(names + 1)
  }

  write (bytes: Buffer, start: number, end: number): void {
    const target = this.#bytes
    let to = this.#end
    // Names are short: a loop is faster than a call that leaves JavaScript.
    for (let from = start; from < end; from++) target[to++] = bytes[from] as number
    this.#end = to
    this.#starts[++this.#count] = to
  }

  /** The list of what was written. */
  finish (): NameList {
    return new NameList(this.#bytes.subarray(0, this.#end), this.#starts.subarray(0, this.#count + 1))
  }
}

/**
 * The order of UTF-8 bytes, which is that of code points. UTF-16 has another one where there are characters beyond the
 * basic plane; such names are rare.
 */
export function compareNames (one: string, other: string): number {
  if (/[\ud800-\uffff]/.test(one) && /[\ud800-\uffff]/.test(other)) return Buffer.compare(Buffer.from(one), Buffer.from(other))
  return one < other ? -1 : one > other ? 1 : 0
}

function compareBytes (a: Buffer, aStart: number, aEnd: number, b: Buffer, bStart: number, bEnd: number): number {
  const common = Math.min(aEnd - aStart, bEnd - bStart)
  for (let index = 0; index < common; index++) {
    const difference = (a[aStart + index] as number) - (b[bStart + index] as number)
    if (difference !== 0) return difference
  }
  return (aEnd - aStart) - (bEnd - bStart)
}
