/** The SVG paths of the icons. Each icon is shown beside a word. */
const PATHS = {
  prompts: 'M3 2.5h7l3 3v8H3zM5.5 7h5M5.5 10h5',
  variables: 'M5.5 3C4 3 4 4 4 5.5S3.5 8 2.5 8C3.5 8 4 9 4 10.5S4 13 5.5 13M10.5 3C12 3 12 4 12 5.5S12.5 8 13.5 8C12.5 8 12 9 12 10.5S12 13 10.5 13',
  tools: 'M9.8 2.6a3.2 3.2 0 0 0-3 4.3L2.6 11.1v2.3h2.3l4.2-4.2a3.2 3.2 0 0 0 4.3-3.8L11.3 7.5 8.9 7.1 8.5 4.7z',
  extensions: 'M2.5 6h3V4.7a1.3 1.3 0 1 1 2.6 0V6h3v2.7h1.2a1.3 1.3 0 1 1 0 2.6h-1.2v2.2H2.5z',
  problems: 'M8 2.5 14 13H2zM8 6.5v3M8 11.3v.1',
  usage: 'M2.5 13.5h11M4.5 11V8M8 11V3.5M11.5 11V6',
  sessions: 'M2.5 3.5h11v7h-6l-3 2.5v-2.5h-2z',
  approvals: 'M13.5 8a5.5 5.5 0 1 1-11 0a5.5 5.5 0 0 1 11 0M5.6 8.2l1.7 1.7 3.2-3.6',
  traces: 'M2.5 8h2.5l1.5-4 3 8 1.5-4h2.5',
  memory: 'M4 2.5h8v11L8 11l-4 2.5z',
  targets: 'M2.5 3.5h11v9h-11zM5 6.5l2 1.7-2 1.7M8.5 10.5H11',
  more: 'M3.5 8h.1M8 8h.1M12.5 8h.1',
  brand: 'm3 5 3 3-3 3M8 11.5h5M3.7 1.7h8.6a3 3 0 0 1 3 3v6.6a3 3 0 0 1-3 3H3.7a3 3 0 0 1-3-3V4.7a3 3 0 0 1 3-3z',
  plus: 'M8 3.5v9M3.5 8h9',
  play: 'M5 3.5v9l7-4.5z',
  check: 'm3.5 8.5 3 3 6-7'
} as const

export type IconName = keyof typeof PATHS

export function Icon ({ name }: { readonly name: IconName }) {
  return (
    <svg viewBox='0 0 16 16' fill='none' stroke='currentColor' strokeWidth='1.4' strokeLinecap='round' strokeLinejoin='round' aria-hidden='true'>
      <path d={PATHS[name]} />
    </svg>
  )
}
