import { type TextPlace } from './json.ts'

export type JsonPath = ReadonlyArray<string | number>

interface PlaceQuery {
  readonly below: Map<string, PlaceQuery>
  /** Where a member's name or an item's value begins; of two members with one name the last one counts, as for a parser. */
  place: TextPlace | undefined
}

/** In one pass; the text was parsed already. A path that does not exist gets its deepest part that does. */
export function placesInJson (text: string, paths: readonly JsonPath[]): TextPlace[] {
  const root: PlaceQuery = { below: new Map(), place: undefined }
  const ways = paths.map(path => path.reduce<PlaceQuery[]>((way, segment) => [...way, childOf(way.at(-1) as PlaceQuery, String(segment))], [root]))
  new Scan(text).value(root)
  return ways.map(way => way.findLast(({ place }) => place !== undefined)?.place ?? { line: 1, column: 1 })
}

function childOf ({ below }: PlaceQuery, segment: string): PlaceQuery {
  const known = below.get(segment)
  if (known !== undefined) return known
  const child: PlaceQuery = { below: new Map(), place: undefined }
  below.set(segment, child)
  return child
}

const SPACE: ReadonlySet<string> = new Set(' \t\r\n')
const ENDS_OF_WORDS: ReadonlySet<string> = new Set([...SPACE, ',', ']', '}'])

/** It recurses as deeply as the text nests, which was bounded when the text was parsed. */
class Scan {
  readonly #text: string
  #index = 0
  #line = 1
  #lineStart = 0

  constructor (text: string) {
    this.#text = text
  }

  value (wanted: PlaceQuery | undefined): void {
    this.#skipSpace()
    if (wanted !== undefined) wanted.place ??= this.#place()
    const first = this.#text[this.#index]
    if (first === '{') this.#members(wanted)
    else if (first === '[') this.#items(wanted)
    else if (first === '"') this.#string()
    else {
      while (this.#index < this.#text.length && !ENDS_OF_WORDS.has(this.#text[this.#index] as string)) this.#index++
    }
  }

  #members (wanted: PlaceQuery | undefined): void {
    this.#index++
    while (this.#hasNext('}')) {
      const place = this.#place()
      const name = this.#string()
      const member = wanted === undefined || wanted.below.size === 0 ? undefined : wanted.below.get(JSON.parse(name) as string)
      if (member !== undefined) forgetPlaces(member)
      if (member !== undefined) member.place = place
      this.#skipSpace()
      this.#index++
      this.value(member)
    }
  }

  #items (wanted: PlaceQuery | undefined): void {
    this.#index++
    for (let index = 0; this.#hasNext(']'); index++) this.value(wanted?.below.get(String(index)))
  }

  #hasNext (end: string): boolean {
    this.#skipSpace()
    if (this.#text[this.#index] === ',') this.#index++
    this.#skipSpace()
    if (this.#index < this.#text.length && this.#text[this.#index] !== end) return true
    this.#index++
    return false
  }

  #string (): string {
    const start = this.#index++
    while (this.#index < this.#text.length && this.#text[this.#index] !== '"') this.#index += this.#text[this.#index] === '\\' ? 2 : 1
    return this.#text.slice(start, ++this.#index)
  }

  #skipSpace (): void {
    for (; SPACE.has(this.#text[this.#index] ?? ''); this.#index++) {
      if (this.#text[this.#index] !== '\n') continue
      this.#line++
      this.#lineStart = this.#index + 1
    }
  }

  #place (): TextPlace {
    return { line: this.#line, column: this.#index - this.#lineStart + 1 }
  }
}

function forgetPlaces ({ below }: PlaceQuery): void {
  for (const child of below.values()) {
    child.place = undefined
    forgetPlaces(child)
  }
}
