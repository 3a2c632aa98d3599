import { keep, local } from '../parts/storage.ts'

const KEY = 'prompt-shell.theme'

/** The themes of the console. `system` follows the setting of the user's system. */
export const THEMES = ['system', 'light', 'dark'] as const
type Theme = typeof THEMES[number]

export function currentTheme (): Theme {
  const kept = local.getItem(KEY)
  return THEMES.find(theme => theme === kept) ?? 'system'
}

/** Shows a theme, and stores the choice in this browser. */
export function applyTheme (theme: Theme): void {
  if (theme === 'system') {
    local.removeItem(KEY)
    delete document.documentElement.dataset['theme']
    return
  }
  keep(local, KEY, theme)
  document.documentElement.dataset['theme'] = theme
}
