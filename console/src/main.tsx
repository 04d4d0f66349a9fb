import './style.css'
import { render } from 'preact'
import { App } from './app'
import { begin as beginTexts } from './i18n'
import { begin as beginSession } from './session'

const theme = localStorage.getItem('heatlite.theme')
if (theme) document.documentElement.dataset['theme'] = theme

const place = document.getElementById('app')
if (place) void Promise.all([beginSession(), beginTexts()]).then(([options]) => render(<App options={options} />, place))
