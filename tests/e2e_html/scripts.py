"""What the tests ask of a page, in the page's own language."""

_COLOUR = """
const parsed = text => {
  const parts = text.match(/[0-9.]+/g).map(Number);
  return {r: parts[0], g: parts[1], b: parts[2], a: parts.length > 3 ? parts[3] : 1};
};
const light = colour => {
  const part = value => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  return 0.2126 * part(colour.r) + 0.7152 * part(colour.g) + 0.0722 * part(colour.b);
};
const contrast = (one, other) => {
  const [dark, bright] = [light(one), light(other)].sort((a, b) => a - b);
  return (bright + 0.05) / (dark + 0.05);
};
const ground = element => {
  for (let at = element; at; at = at.parentElement) {
    const colour = parsed(getComputedStyle(at).backgroundColor);
    if (colour.a === 1) return colour;
    if (colour.a !== 0) throw new Error('a background that shines through: ' + at.className);
  }
  throw new Error('no background');
};
const path = element => {
  const name = element.getAttribute('class');
  return element.tagName.toLowerCase() + (name ? '.' + name.trim().replace(/ +/g, '.') : '');
};
const seen = element => element.checkVisibility({visibilityProperty: true, opacityProperty: true});
"""

OPEN_ALL = "for (const details of document.querySelectorAll('details')) details.open = true;"

TEXTS = (
    _COLOUR
    + """
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !seen(element)) continue;
  if (['title', 'desc', 'style'].includes(element.tagName)) continue;
  const style = getComputedStyle(element);
  const colour = parsed(element instanceof SVGElement ? style.fill : style.color);
  found.push([path(element), contrast(colour, ground(element)) * (colour.a === 1 ? 1 : 0)]);
}
return found;
"""
)
"""[element, contrast] of every text that can be seen."""

GRAPHICS = (
    _COLOUR
    + """
const card = ground(document.querySelector('.card:not(.tiles)'));
const found = [];
for (const [selector, property] of arguments[0]) {
  const elements = document.querySelectorAll(selector);
  if (!elements.length) found.push([selector, 0]);
  for (const element of elements) {
    const on = element.closest('.badge') ? ground(element) : card;
    found.push([selector, contrast(parsed(getComputedStyle(element)[property]), on)]);
  }
}
return found;
"""
)
"""[selector, contrast] of what is drawn; a selector that finds nothing has none."""

TRANSLUCENT = """
return [...document.querySelectorAll('body *')].filter(element => {
  const style = getComputedStyle(element);
  return style.opacity !== '1' || style.fillOpacity !== '1' || style.filter !== 'none';
}).map(element => element.outerHTML.slice(0, 80));
"""

FOCUSABLE = (
    _COLOUR
    + """
const all = [...document.querySelectorAll('a[href], summary, [tabindex="0"], button, input, select')];
return all.filter(seen).map(element => [path(element), element.textContent.trim().slice(0, 40)]);
"""
)
"""What the tabulator has to reach, in the order of the document."""

FOCUSED = (
    _COLOUR
    + """
const element = document.activeElement, style = getComputedStyle(element);
const box = element.getBoundingClientRect();
const x = Math.max(1, Math.min(box.left + 12, innerWidth - 1)), y = Math.max(box.top, 0) + 8;
const top = document.elementFromPoint(x, y);
return {
  what: [path(element), element.textContent.trim().slice(0, 40)],
  outline: style.outlineStyle === 'solid' ? parseFloat(style.outlineWidth) : 0,
  contrast: contrast(parsed(style.outlineColor), ground(element.parentElement)),
  inView: box.top < innerHeight && box.bottom > 0 && box.width > 1 && box.height > 1,
  onTop: top !== null && (element.contains(top) || top.contains(element)),
  top: box.top + scrollY,
};
"""
)
"""The element with the focus: how one sees that, whether it is in view and not below another."""

TOO_WIDE = """
return [...document.querySelectorAll('body *')].filter(element => {
  if (element.closest('.scroll table, .defs, svg svg, svg g') || element.closest('.skip')) return false;
  const box = element.getBoundingClientRect();
  return box.width && !(element instanceof SVGElement && element.ownerSVGElement)
    && (box.right > innerWidth + 0.5 || box.left < -0.5);
}).map(element => element.outerHTML.slice(0, 80));
"""
"""What reaches beyond the screen, scrolling tables left out."""

CUT_OFF = """
return [...document.querySelectorAll('text')].filter(element => {
  const box = element.getBoundingClientRect();
  return box.width && (box.right > innerWidth || box.left < 0);
}).map(element => element.textContent);
"""
"""Labels of charts that are not wholly on the screen."""

LABELS = """
return [...document.querySelectorAll('svg')].flatMap(svg => {
  const boxes = [...svg.querySelectorAll(':scope > text')].map(text => text.getBoundingClientRect());
  return boxes.flatMap((one, index) => boxes.slice(index + 1).filter(other =>
    one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom));
}).length;
"""
"""How many pairs of a chart's labels lie over each other."""
