/** The frame around all pages: navigation, project, language, theme; or the login. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { language, t, use } from './i18n'
import { Login } from './pages/login'
import { Operations } from './pages/operations'
import { PlanPage } from './pages/plan'
import { Plans } from './pages/plans'
import { StackPage } from './pages/stack'
import { Stacks } from './pages/stacks'
import { TypesPage } from './pages/types'
import { Edit } from './pages/edit'
import { Button, Empty } from './parts/ui'
import { go, to, usePlace, type Place } from './router'
import { isAdmin, logOut, mayChange, projects, session, switchTo, whenExpired, type Options, type Project } from './session'
import type { Key } from './texts/en'

export function App({ options }: { options: Options }): JSX.Element {
  const place = usePlace()
  const [, setTurn] = useState(0)
  const [expired, setExpired] = useState(false)
  const again = (): void => setTurn((turn) => turn + 1)
  useEffect(() => whenExpired(() => {
    setExpired(true)
    again()
  }), [])
  useEffect(() => {
    document.title = [...place.parts.slice(0, 2), t('app.name')].join(' · ')
  }, [place])
  if (!session()) return <Login expired={expired} done={() => {
    setExpired(false)
    again()
  }} />
  return <>
    <a class="skip" href="#content" onClick={(event) => {
      event.preventDefault()
      document.getElementById('content')?.focus()
    }}>{t('app.skip')}</a>
    <div class="frame">
      <Side place={place} options={options} again={again} />
      <main id="content" tabIndex={-1} key={`${session()?.projectId} ${language}`}><Pages place={place} /></main>
    </div>
  </>
}

function Pages({ place }: { place: Place }): JSX.Element {
  const [first = 'stacks', second, third, fourth] = place.parts
  switch (first) {
    case 'stacks':
      return second === 'new' ? <Writer><Edit key="new" /></Writer> : <Stacks query={place.query} />
    case 'stack':
      if (second && third) {
        return fourth === 'update' ? <Writer><Edit key={third} stack={{ name: second, id: third }} /></Writer>
          : <StackPage key={third} name={second} id={third} tab={fourth ?? 'graph'} query={place.query} />
      }
      break
    case 'plans':
      return <Plans />
    case 'plan':
      if (second) return <PlanPage key={second} id={second} />
      break
    case 'types':
      return <TypesPage chosen={second} query={place.query} />
    case 'operations':
      return <Operations />
  }
  return <Empty title={t('error.404.title')} text=""><a class="button" href={to(['stacks'])}>{t('nav.stacks')}</a></Empty>
}

/** A page for those who may change something; others learn why there is nothing. */
function Writer({ children }: { children: JSX.Element }): JSX.Element {
  return mayChange() ? children : <Empty title={t('reader.title')} text={t('reader.text')}><a class="button" href={to(['stacks'])}>{t('nav.stacks')}</a></Empty>
}

const PAGES: [string, Key, string[]][] = [
  ['stacks', 'nav.stacks', ['stacks', 'stack']], ['plans', 'nav.plans', ['plans', 'plan']],
  ['types', 'nav.types', ['types']], ['operations', 'nav.operations', ['operations']],
]

function Side({ place, options, again }: { place: Place; options: Options; again: () => void }): JSX.Element {
  const current = place.parts[0] ?? 'stacks'
  const [others, setOthers] = useState<Project[]>([])
  useEffect(() => void projects().then(setOthers, () => undefined), [session()?.userName])
  const switched = (): void => {
    if (place.parts[0] === 'stack' || place.parts[0] === 'plan') go(to([`${place.parts[0]}s`]))      // of the other project
    again()
  }
  const theme = (): void => {
    const root = document.documentElement
    const dark = root.dataset['theme'] ? root.dataset['theme'] === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
    root.dataset['theme'] = dark ? 'light' : 'dark'
    localStorage.setItem('heatlite.theme', root.dataset['theme'])
  }
  return <header class="side">
    <a class="brand" href={to(['stacks'])}><img src="icon.svg" alt="" width="26" height="26" />{t('app.name')}</a>
    <nav aria-label={t('nav.main')}>
      {PAGES.filter(([id]) => id !== 'operations' || isAdmin()).map(([id, key, under]) =>
        <a key={id} href={to([id])} aria-current={under.includes(current) ? 'page' : undefined}>{t(key)}</a>)}
    </nav>
    <div class="side-foot">
      <label class="field small"><span class="label">{t('nav.project')}</span>
        {others.length > 1 && !session()?.isBound
          ? <select value={session()?.projectId} onChange={(event) => void switchTo(event.currentTarget.value).then(switched, again)}>
            {others.map((each) => <option key={each.id} value={each.id}>{each.name}</option>)}
          </select>
          : <output>{session()?.projectName}</output>}
      </label>
      <div class="side-row">
        <Button tone="quiet" onClick={theme} aria-label={t('nav.theme')} title={t('nav.theme')}>◐</Button>
        <Button tone="quiet" lang={language === 'en' ? 'zh-CN' : 'en'} onClick={() => void use(language === 'en' ? 'zh-CN' : 'en').then(again)}>{t('nav.language')}</Button>
        {options.auth === 'keystone' && <Button tone="quiet" onClick={() => void logOut().then(again)}>{t('nav.logout')}</Button>}
      </div>
    </div>
  </header>
}
