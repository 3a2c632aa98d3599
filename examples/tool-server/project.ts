import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A line of a file; lines count from 1. */
export interface Place { readonly file: string, readonly line: number, readonly text: string }

/** The project that the tools answer questions about. */
export interface Project {
  /** Every line that names a symbol, by file. */
  references (symbol: string): Place[]
  /** Who owns a file, by its longest matching entry in CODEOWNERS. */
  owners (file: string): string[]
  /** The functions that a file declares; `undefined` for a file that is not there. */
  outline (file: string): Array<{ readonly name: string, readonly line: number }> | undefined
}

/** Reads the small Go project beside this file, once. */
export function readProject (): Project {
  const folder = fileURLToPath(new URL('project', import.meta.url))
  const read = (file: string) => readFileSync(`${folder}/${file}`, 'utf8').split('\n')
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(name => name.replaceAll('\\', '/')).filter(name => name.endsWith('.go')).sort()
  const files = new Map(names.map(name => [name, read(name)]))
  const owners = read('CODEOWNERS').map(line => line.split(' ')).sort(([one = ''], [other = '']) => other.length - one.length)

  return {
    references: symbol => [...files].flatMap(([file, lines]) => lines.flatMap((text, index) =>
      text.split(/\W+/).includes(symbol) ? [{ file, line: index + 1, text: text.trim() }] : [])),
    owners: file => owners.find(([prefix]) => prefix !== undefined && prefix !== '' && file.startsWith(prefix))?.slice(1) ?? [],
    outline: file => files.get(file)?.flatMap((text, index) => {
      const name = /^func (?:\([^)]*\) )?(\w+)/.exec(text)?.[1]
      return name === undefined ? [] : [{ name, line: index + 1 }]
    })
  }
}
