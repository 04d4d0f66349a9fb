/** Loads what a page shows: again when it asks for it, and when its inputs change. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

export interface Loaded<T> {
  value: T | null
  error: unknown
  again: () => void
}

export function useLoad<T>(load: () => Promise<T>, inputs: unknown[]): Loaded<T> {
  const [state, setState] = useState<{ value: T | null; error: unknown }>({ value: null, error: null })
  const run = useRef(0)
  const again = useCallback(() => {
    const mine = ++run.current
    load().then(
      (value) => mine === run.current && setState({ value, error: null }),
      (error: unknown) => mine === run.current && setState((before) => ({ value: before.value, error })),
    )
  }, inputs)
  useEffect(() => {
    setState({ value: null, error: null })
    again()
    return () => {
      run.current++
    }
  }, [again])
  return { ...state, again }
}

/** Calls `act` at most once in `pause` milliseconds, and once at the end. */
export function useCalm(act: () => void, pause: number): () => void {
  const latest = useRef(act)
  latest.current = act
  const timer = useRef<number | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  return useCallback(() => {
    timer.current ??= window.setTimeout(() => {
      timer.current = undefined
      latest.current()
    }, pause)
  }, [pause])
}

/** Calls `act` every `pause` milliseconds while the page is visible. */
export function useEvery(act: () => void, pause: number): void {
  const latest = useRef(act)
  latest.current = act
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && latest.current(), pause)
    return () => clearInterval(timer)
  }, [pause])
}
