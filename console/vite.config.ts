import { existsSync, readFileSync } from 'node:fs'
import preact from '@preact/preset-vite'
import { defineConfig, type Plugin } from 'vite'

const LICENSES = ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'license']

/** licenses.txt: the licence of each package whose code is in the built files. */
function licenses(): Plugin {
  return {
    name: 'licenses',
    generateBundle(_options, bundle) {
      const folders = new Map<string, string>()
      for (const chunk of Object.values(bundle)) {
        for (const id of chunk.type === 'chunk' ? Object.keys(chunk.modules) : []) {
          const found = /^(.*\/node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(id.replace(/^\0/, ''))
          if (found?.[1] && found[2]) folders.set(found[2], found[1])
        }
      }
      const texts = [...folders].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, folder]) => {
        const file = LICENSES.map((each) => `${folder}/${each}`).find(existsSync)
        if (!file) this.error(`no licence of ${name}`)
        return `${name}\n${'='.repeat(name.length)}\n\n${readFileSync(file as string, 'utf-8').trim()}\n`
      })
      this.emitFile({ type: 'asset', fileName: 'licenses.txt', source: texts.join('\n\n') })
    },
  }
}

// Names of files carry a hash of their content; the same sources give the same bytes.
export default defineConfig({
  base: './',
  plugins: [preact({ devToolsEnabled: false }), licenses()],
  build: {
    outDir: '../heatlite/api/console/static',
    assetsDir: '',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: '[name]-[hash:8].js',
        chunkFileNames: '[name]-[hash:8].js',
        assetFileNames: '[name]-[hash:8][extname]',
      },
    },
  },
  server: { proxy: { '/v1': 'http://127.0.0.1:8004', '/console/options.json': 'http://127.0.0.1:8004' } },
})
