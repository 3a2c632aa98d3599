/**
 * An immutable list of sorted names without repeats, stored as UTF-8 bytes in one buffer. A million names of 30 bytes take 34 MB in two objects; as
 * JavaScript strings they would take 64 MB, and the garbage collector would have to look at a million objects.
 */
export class NameList {
  static readonly empty = new NameList(Buffer.alloc(0), Uint32Array.of(0))

  readonly #bytes: Buffer
  /** The position in `#bytes` at which each name begins, and at the end one more: that at which the last name ends. */
  readonly #starts: Uint32Array

  /** @param starts where each name begins in `bytes`, and where the last one ends */
  constructor (bytes: Buffer, starts: Uint32Array) {
    this.#bytes = bytes
    this.#starts = starts
  }

  /** Makes a list from few names, which it sorts without a pause. */
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

  /** The name at a position. @param index from 0, below `length` */
  at (index: number): string {
    return this.#bytes.toString('utf8', this.#starts[index], this.#starts[index + 1])
  }

  has (name: string): boolean {
    const wanted = Buffer.from(name)
    const index = this.#from(wanted)
    return index < this.length && this.#compare(index, wanted) === 0
  }

  /** The position of the first name that is equal to `name` or comes after it; `length` if there is none. */
  from (name: string): number {
    return this.#from(Buffer.from(name))
  }

  /** Appends the name at a position to a list that is being written. */
  copyTo (target: NameWriter, index: number): void {
    target.write(this.#bytes, this.#starts[index] as number, this.#starts[index + 1] as number)
  }

  /** Compares the name at `index` with a name of another list: below 0 when it comes first, 0 when they are equal. */
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

/** Writes a `NameList` name by name. The names must come in order and without repeats. */
export class NameWriter {
  readonly #bytes: Buffer
  readonly #starts: Uint32Array
  #count = 0
  #end = 0

  /** @param names how many names there can be at most, for which memory is set aside @param bytes how many bytes all names can have at most */
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

  /** The list of the names written so far. */
  finish (): NameList {
    return new NameList(this.#bytes.subarray(0, this.#end), this.#starts.subarray(0, this.#count + 1))
  }
}

/**
 * Compares two names by their UTF-8 bytes, which is the order of code points. JavaScript compares UTF-16, which gives another order for characters
 * beyond the basic plane; names with such characters are rare.
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
