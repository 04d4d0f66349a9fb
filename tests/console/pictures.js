// What tests/console/pictures.py has the browser do. One expression: an object of functions.
(() => {
  const load = async url => {
    const made = new Image()
    made.src = url
    await made.decode()
    return made
  }

  const drawn = (image, width, height) => {
    const canvas = Object.assign(document.createElement('canvas'), {width, height})
    const context = canvas.getContext('2d', {willReadFrequently: true})
    context.imageSmoothingQuality = 'high'
    context.drawImage(image, 0, 0, width, height)
    return [canvas, context]
  }

  // The mean colour of each square of `block` pixels.
  const means = (context, width, height, block) => {
    const pixels = context.getImageData(0, 0, width, height).data
    const found = []
    for (let top = 0; top < height; top += block) {
      for (let left = 0; left < width; left += block) {
        const sum = [0, 0, 0]
        let count = 0
        for (let y = top; y < Math.min(top + block, height); y++) {
          for (let x = left; x < Math.min(left + block, width); x++, count++) {
            for (const part of [0, 1, 2]) sum[part] += pixels[4 * (y * width + x) + part]
          }
        }
        found.push({left, top, mean: sum.map(part => part / count)})
      }
    }
    return found
  }

  return {
    // The part of the squares that differ by more than `close`, and a picture with these in red.
    differ: async ([stored, shown, block, close]) => {
      const before = await load(stored)
      const after = await load(shown)
      const {width, height} = before
      const was = means(drawn(before, width, height)[1], width, height, block)
      const [canvas, context] = drawn(after, width, height)
      const is = means(context, width, height, block)
      const far = is.filter((each, at) => each.mean.some((part, colour) => Math.abs(part - was[at].mean[colour]) > close))
      context.fillStyle = 'rgba(220, 0, 60, 0.55)'
      far.forEach(each => context.fillRect(each.left, each.top, block, block))
      const alike = Math.abs(after.width / after.height - width / height) < 0.01
      return [alike ? far.length / is.length : 1, canvas.toDataURL('image/png')]
    },

    half: async url => {
      const image = await load(url)
      return drawn(image, image.width / 2, image.height / 2)[0].toDataURL('image/webp', 0.8)
    },

    fonts: () => {
      const context = document.createElement('canvas').getContext('2d')
      return ['system-ui', 'ui-monospace, monospace'].map(family => {
        context.font = `20px ${family}`
        return Math.round(context.measureText('The quick brown fox 0123456789').width)
      })
    },

    // At the top, whatever was scrolled to before; ids, digests and addresses by others of the same length.
    steady: () => {
      const fixed = [
        [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '5c0ffee5-c0ff-4ee5-80ff-ee5c0ffee5c0'],
        [/\b[0-9a-f]{32}\b/g, '5c0ffee5c0ff4ee580ffee5c0ffee5c0'], [/\b[0-9a-f]{12}\b/g, '5c0ffee5c0ff'],
        [/\b10\.\d+\.\d+\.\d+\b/g, '10.1.0.20'], [/\b([a-z]+(?:-[a-z0-9]+)*)-[a-z0-9]{12}\b/g, '$1-5c0ffee5c0ff']]
      scrollTo(0, 0)
      document.querySelectorAll('main *').forEach(each => { if (each.scrollTop) each.scrollTop = 0 })
      const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
      while (walk.nextNode()) {
        const text = fixed.reduce((before, [pattern, word]) => before.replace(pattern, word), walk.currentNode.data)
        if (text !== walk.currentNode.data) walk.currentNode.data = text
      }
    },
  }
})()
