/** The state of the page is its address: `#/path?key=value`. */
import { useEffect, useRef, useState } from 'preact/hooks'

export interface Place {
  parts: string[]
  query: URLSearchParams
}

export function here(): Place {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?')
  return { parts: path.split('/').filter(Boolean).map(decode), query: new URLSearchParams(query) }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The address of a page. */
export function to(parts: string[], query: Record<string, string> = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value)
  const text = new URLSearchParams(pairs).toString()
  return `#/${parts.map(encodeURIComponent).join('/')}${text && `?${text}`}`
}

export function go(address: string): void {
  location.hash = address
}

/** Changes the address without an entry in the history. */
export function replace(address: string): void {
  history.replaceState(null, '', address)
  window.dispatchEvent(new HashChangeEvent('hashchange'))
}

export function usePlace(): Place {
  const [place, setPlace] = useState(here)
  const first = useRef(location.hash)
  useEffect(() => {
    const changed = (): void => setPlace(here())
    window.addEventListener('hashchange', changed)
    if (location.hash !== first.current) changed()                          // since the first rendering
    return () => window.removeEventListener('hashchange', changed)
  }, [])
  return place
}
