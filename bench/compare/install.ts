import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'

const FOLDER = 'bench/compare'
const AIDER = `${FOLDER}/.build/aider`

/** Installs LangGraph.js and what it needs below `bench/compare/langgraph`, unless that is there as its lock file says. @throws Error */
export function installLanggraph (): void {
  const folder = `${FOLDER}/langgraph`
  once(`${folder}/node_modules/.compare`, readFileSync(`${folder}/package-lock.json`, 'utf8'), () => {
    // The SQLite addon is fetched ready-made, or compiled here.
    run('npm', ['ci', '--prefix', folder, '--ignore-scripts=false'])
  })
}

/** Installs Aider in an environment of its own. @returns its program @throws Error, where there is no Python that it takes */
export function installAider (): string {
  const requirements = `${FOLDER}/aider/requirements.txt`
  once(`${AIDER}/.compare`, readFileSync(requirements, 'utf8'), () => {
    run('python3', ['-m', 'venv', AIDER])
    run(`${AIDER}/bin/pip`, ['install', '--quiet', '--no-deps', '-r', requirements])
  })
  return `${AIDER}/bin/aider`
}

/** Does it unless a file says that it was done with the same pins. */
function once (file: string, pins: string, install: () => void): void {
  if (existsSync(file) && readFileSync(file, 'utf8') === pins) return
  mkdirSync(`${FOLDER}/.build`, { recursive: true })
  install()
  writeFileSync(file, pins)
}

function run (program: string, words: readonly string[]): void {
  const { status, error } = spawnSync(program, words, { stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Error(`${program} ${words.join(' ')} ended with ${status ?? error?.message}`)
}
