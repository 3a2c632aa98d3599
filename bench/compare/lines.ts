import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Lines that somebody has to write: all but those that are empty or nothing but a comment. @param path a file, or a folder of files */
export function linesIn (path: string, ...comments: readonly string[]): number {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  return files.reduce((sum, file) => sum + linesOf(file, comments), 0)
}

/** The same of one file. @param comments what a line of comment begins with */
export function linesOf (file: string, comments: readonly string[]): number {
  return readFileSync(file, 'utf8').split('\n').map(line => line.trim()).filter(line => line !== '' && !comments.some(mark => line.startsWith(mark))).length
}
