import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const FOLDER = 'dist/console'

/**
 * Builds console/ into dist/console: a page, and assets whose names have a hash of what is in them, with their compressed forms beside
 * them. What is made of what is kept in .build/console-meta.json, for the test of its size.
 */
export async function buildConsole () {
  const { metafile } = await build({
    entryPoints: ['console/main.tsx', 'console/style/console.css', 'console/style/terminal.css'],
    outdir: `${FOLDER}/assets`,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: ['chrome123', 'firefox120', 'safari17.5'],
    jsx: 'automatic',
    minify: true,
    charset: 'utf8',
    legalComments: 'none',
    // React tells extensions of browsers nothing of the page.
    define: { 'process.env.NODE_ENV': '"production"', __REACT_DEVTOOLS_GLOBAL_HOOK__: 'undefined' },
    // React has it itself by now.
    alias: { 'use-sync-external-store/shim/index.js': 'react' },
    metafile: true,
    logLevel: 'warning'
  })
  mkdirSync('.build', { recursive: true })
  writeFileSync('.build/console-meta.json', JSON.stringify(metafile))
  writeFileSync(`${FOLDER}/index.html`, pageWith(metafile))
  for (const name of readdirSync(`${FOLDER}/assets`)) compress(join(FOLDER, 'assets', name))
}

/** The page, with the names of its assets. What the script imports at once is asked for with it. */
function pageWith ({ outputs }) {
  const built = entry => Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === entry)
  const [script, { imports }] = built('console/main.tsx')
  const [style] = built('console/style/console.css')
  const [terminalStyle] = built('console/style/terminal.css')
  const first = imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => `<link rel="modulepreload" href="/console/assets/${basename(path)}">`)
  return readFileSync('console/index.html', 'utf8')
    .replace('%STYLE%', `/console/assets/${basename(style)}`)
    .replace('%TERMINAL_STYLE%', `/console/assets/${basename(terminalStyle)}`)
    .replace('%SCRIPT%', `/console/assets/${basename(script)}`)
    .replace('%FIRST%', first.join(''))
}

/** Browsers take Brotli over TLS only; gzip they take everywhere, and it is a tenth larger. What fits one packet is sent as it is. */
function compress (path) {
  const bytes = readFileSync(path)
  if (bytes.length > 1400) writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
}
