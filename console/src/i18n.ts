/** Texts in the reader's language, and times in the reader's zone. */
import { en, type Key, type Texts } from './texts/en'

export type Language = 'en' | 'zh-CN'
const KEPT = 'heatlite.language'

let texts: Texts = en
export let language: Language = 'en'

/** Loads the chosen language, or the browser's. */
export async function begin(): Promise<void> {
  const wanted = localStorage.getItem(KEPT) ?? navigator.language
  await use(wanted.toLowerCase().startsWith('zh') ? 'zh-CN' : 'en', false)
}

export async function use(wanted: Language, keep = true): Promise<void> {
  texts = wanted === 'en' ? en : (await import('./texts/zh-CN')).zhCN
  language = wanted
  document.documentElement.lang = wanted
  if (keep) localStorage.setItem(KEPT, wanted)
}

/** The text of a key, with `{name}` replaced. */
export function t(key: Key, values: Record<string, string | number> = {}): string {
  return texts[key].replace(/\{(\w+)\}/g, (whole, name: string) => (name in values ? String(values[name]) : whole))
}

/** A time of the API as a date of the reader. */
export function when(text: string | null | undefined): string {
  if (!text) return ''
  const zone = navigator.language.slice(0, 2) === language.slice(0, 2) ? navigator.language : language
  return new Date(text).toLocaleString(zone, { dateStyle: 'medium', timeStyle: 'medium' })
}

/** Seconds as a short text: 45 s, 12 min, 3 h, 2 d. */
export function span(seconds: number): string {
  const n = Math.max(0, seconds)
  if (n < 90) return t('time.s', { n: n < 10 ? Math.round(n * 10) / 10 : Math.round(n) })
  if (n < 5400) return t('time.min', { n: Math.round(n / 60) })
  if (n < 129600) return t('time.h', { n: Math.round(n / 3600) })
  return t('time.d', { n: Math.round(n / 86400) })
}

/** How long ago a time of the API was. */
export function ago(text: string | null | undefined): string {
  if (!text) return ''
  const seconds = (Date.now() - Date.parse(text)) / 1000
  return seconds < 10 ? t('time.now') : t('time.ago', { time: span(seconds) })
}
