// Each command of tests says first what it runs, and how long that took here the last time.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'

const FILE = '.build/took.json'

function read () {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8'))
  } catch {
    return {}
  }
}

/** @param minutes what it takes on two cores */
export function announce (name, what, minutes) {
  const seconds = read()[name]
  console.log(`npm ${name === 'test' ? '' : 'run '}${name}: ${what} (${seconds === undefined ? `about ${minutes} min on two cores` : `${Math.floor(seconds / 60)} min ${seconds % 60} s here, the last time`})`)
}

/** Runs a command of tests to its end, and keeps how long that took. */
export async function keepTime (name, command) {
  const started = performance.now()
  await command()
  mkdirSync('.build', { recursive: true })
  writeFileSync(FILE, JSON.stringify({ ...read(), [name]: Math.round((performance.now() - started) / 1000) }))
}
