import { type ReactNode, type Ref, useRef } from 'react'

/**
 * A button for an action that cannot be undone. Only a single click counts, whose press began on the button. Keys, second clicks and
 * scripts do nothing.
 */
export function DeliberateButton ({ className, disabled, onPress, children, ref }: {
  readonly className: string
  readonly disabled?: boolean
  readonly onPress: () => void
  readonly children: ReactNode
  readonly ref?: Ref<HTMLButtonElement>
}) {
  const isDown = useRef(false)
  return (
    <button
      ref={ref}
      type='button'
      className={className}
      disabled={disabled}
      onPointerDown={event => { isDown.current = event.isTrusted }}
      // A finger is lifted before the click comes, and leaves the button with it: only a pointer that leaves while it is down takes the press back.
      onPointerLeave={event => { if (event.buttons !== 0) isDown.current = false }}
      onPointerCancel={() => { isDown.current = false }}
      onKeyDown={event => { if (event.key === 'Enter' || event.key === ' ') event.preventDefault() }}
      onClick={event => {
        const isMeant = isDown.current && event.isTrusted && event.detail === 1
        isDown.current = false
        if (isMeant) onPress()
      }}
    >
      {children}
    </button>
  )
}
