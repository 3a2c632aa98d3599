/** The few drawings, each beside its word. */
const PATHS = {
  prompts: 'M3 2.5h7l3 3v8H3zM5.500 7h5M5.500 10h5',
  variables: 'M5.500 3C4 3 4 4 4 5.500S3.500 8 2.500 8C3.500 8 4 9 4 10.500S4 13 5.500 13M10.500 3C12 3 12 4 12 5.500S12.500 8 13.500 8C12.500 8 12 9 12 10.500S12 13 10.500 13',
  tools: 'M9.800 2.600a3.200 3.200 0 0 0-3 4.300L2.600 11.100v2.300h2.300l4.200-4.200a3.200 3.200 0 0 0 4.300-3.800L11.300 7.500 8.900 7.100 8.500 4.700z',
  extensions: 'M2.500 6h3V4.700a1.300 1.300 0 1 1 2.600 0V6h3v2.700h1.200a1.300 1.300 0 1 1 0 2.600h-1.200v2.200H2.500z',
  problems: 'M8 2.500 14 13H2zM8 6.500v3M8 11.300v.1',
  sessions: 'M2.500 3.500h11v7h-6l-3 2.500v-2.500h-2z',
  approvals: 'M13.500 8a5.500 5.500 0 1 1-11 0a5.500 5.500 0 0 1 11 0M5.600 8.200l1.700 1.700 3.200-3.600',
  traces: 'M2.500 8h2.500l1.500-4 3 8 1.500-4h2.500',
  memory: 'M4 2.500h8v11L8 11l-4 2.500z',
  targets: 'M2.500 3.500h11v9h-11zM5 6.500l2 1.700-2 1.700M8.500 10.500H11',
  more: 'M3.500 8h.1M8 8h.1M12.500 8h.1',
  brand: 'm3 5 3 3-3 3M8 11.500h5M3.700 1.700h8.600a3 3 0 0 1 3 3v6.600a3 3 0 0 1-3 3H3.700a3 3 0 0 1-3-3V4.700a3 3 0 0 1 3-3z',
  plus: 'M8 3.500v9M3.500 8h9',
  play: 'M5 3.500v9l7-4.500z',
  check: 'm3.500 8.500 3 3 6-7'
} as const

export type IconName = keyof typeof PATHS

export function Icon ({ name }: { readonly name: IconName }) {
  return (
    <svg viewBox='0 0 16 16' fill='none' stroke='currentColor' strokeWidth='1.4' strokeLinecap='round' strokeLinejoin='round' aria-hidden='true'>
      <path d={PATHS[name]} />
    </svg>
  )
}
