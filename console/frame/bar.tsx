import { useState } from 'react'
import { useCaller } from '../api/caller.ts'
import { type Status } from '../api/status.ts'
import { keepToken, tokenRefused } from '../api/token.ts'
import { shortTime } from '../parts/time.ts'
import { t } from '../text/text.ts'
import { Search } from './search.tsx'
import { applyTheme, currentTheme, THEMES } from './theme.ts'

/** The bar at the top: the search, the state of the service, the name of the caller, and the theme. */
export function Bar ({ status }: { readonly status: Status }) {
  const caller = useCaller()
  return (
    <header className='bar'>
      <Search />
      <span className='grow' />
      <StoreState status={status} />
      {caller?.mode === 'tokens' && (
        <button type='button' className='button plain small cut' title={t.forgetToken} onClick={() => { keepToken('', false); tokenRefused(t.tokenWhy) }}>
          {caller.name}
        </button>
      )}
      <ThemeButton />
    </header>
  )
}

function StoreState ({ status: { state, since } }: { readonly status: Status }) {
  if (state === 'live') return <span className='row' role='status'><span className='dot good' />{t.live}</span>
  const words = state === 'stale' ? t.staleSince(shortTime(since ?? 0)) : state === 'held' ? t.held : t.goneSince(shortTime(since ?? 0))
  return <span className={state === 'gone' ? 'chip bad' : 'chip warn'} role='status'>{words}</span>
}

function ThemeButton () {
  const [theme, setTheme] = useState(currentTheme())
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system'
  const name = { system: t.themeSystem, light: t.themeLight, dark: t.themeDark }[theme]
  return (
    <button type='button' className='button plain small' aria-label={name} title={name} onClick={() => { applyTheme(next); setTheme(next) }}>
      {theme === 'system' ? '◐' : theme === 'light' ? '○' : '●'}
    </button>
  )
}
