/**
 * Runs in a page. Lists what prevents the use by phone, keyboard or screen reader, one line each. It compares each text
 * with the colour behind it (WCAG 2.2, 1.4.3).
 */
export const ACCESSIBILITY_PROBLEMS = `(() => {
  const problems = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const html = (element) => element.outerHTML.slice(0, 120);
  if (document.documentElement.lang === '') problems.push('no language');
  if (document.title === '') problems.push('no title');
  for (const selector of ['h1', 'main']) {
    if (all(selector).length !== 1) problems.push(all(selector).length + ' times ' + selector);
  }
  for (const control of all('input:not([type=hidden]), select, textarea')) {
    if (control.labels.length === 0) problems.push('no label: ' + html(control));
  }
  for (const named of all('button, a')) {
    if (named.textContent.trim() === '') problems.push('no name: ' + html(named));
  }
  for (const image of all('img')) if (!image.alt) problems.push('no alternative text: ' + html(image));
  for (const { id } of all('[id]')) {
    if (all('#' + CSS.escape(id)).length > 1) problems.push('duplicate id ' + id);
  }
  for (const attribute of ['aria-labelledby', 'aria-describedby', 'list']) {
    for (const element of all('[' + attribute + ']')) {
      if (document.getElementById(element.getAttribute(attribute)) === null) problems.push('refers to a missing id: ' + html(element));
    }
  }
  for (const element of all('[tabindex]')) if (element.tabIndex > 0) problems.push('positive tabindex: ' + html(element));
  for (const target of all('button, input:not([type=hidden]), select')) {
    const { height } = target.getBoundingClientRect();
    if (height > 0 && height < 24) problems.push('too small: ' + html(target));
  }
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const edge = document.documentElement.clientWidth;
  const isOver = (element) => !element.closest('thead, .unseen') && element.getBoundingClientRect().right > edge;
  if (wide > 0) problems.push('wider than the window by ' + wide + ': ' + all('body *').filter(isOver).map(html).join(' | '));

  const parse = (color) => color.match(/[\\d.]+/g).map(Number);
  const backOf = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const luminance = (color) => {
    const [r, g, b] = color.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  for (const element of all('body *')) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
    if (!hasText || element.closest('script, option') || element.getClientRects().length === 0) continue;
    const [light, dark] = [parse(getComputedStyle(element).color), backOf(element)].map(luminance).sort((a, b) => b - a);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < 4.5) problems.push('contrast ' + contrast.toFixed(2) + ': ' + html(element));
  }
  return problems;
})()`;
