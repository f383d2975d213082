"""How a rehearsal's page looks: light and dark, narrow and wide, on a screen and on paper."""

from __future__ import annotations

_LIGHT = {
    "page": "#f4f5f7", "card": "#ffffff", "ink": "#1a1f26", "dim": "#545d68", "rule": "#d5dae0",
    "grid": "#e6e9ed", "link": "#0a58ca", "focus": "#0a58ca", "good": "#136c39", "bad": "#b4151f",
    "halt": "#8a4b00", "good-tint": "#e3f4e9", "bad-tint": "#fdeaea", "halt-tint": "#fdf1e0",
    "queued": "#7a828c", "reserved": "#7a3ec8", "starting": "#1258c4", "running": "#1a66d6",
    "restarting": "#b25a00", "area": "#cfe0fa", "limit": "#3d4650", "there": "#136c39",
}  # fmt: skip
_DARK = {
    "page": "#0d1117", "card": "#161b22", "ink": "#e8edf2", "dim": "#a3adb8", "rule": "#343b44",
    "grid": "#252c35", "link": "#7db4ff", "focus": "#9cc5ff", "good": "#56d07f", "bad": "#ff8a84",
    "halt": "#f2b45c", "good-tint": "#12301d", "bad-tint": "#3d1719", "halt-tint": "#38270c",
    "queued": "#8b949e", "reserved": "#c29bff", "starting": "#64a8ff", "running": "#5aa2ff",
    "restarting": "#f09a45", "area": "#1d3a63", "limit": "#c3cad2", "there": "#56d07f",
}  # fmt: skip


def style() -> str:
    """Return the style sheet of the page."""
    dark = f"@media screen and (prefers-color-scheme:dark){{:root{{{_named(_DARK)}}}}}"
    return f":root{{{_named(_LIGHT)}}}{dark}{_RULES}"


def _named(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


_RULES = """
:root{color-scheme:light dark;--left:min(21rem,28%);--right:52px}
*{box-sizing:border-box}
html{scroll-padding-top:2rem;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
header,main,footer{max-width:84rem;margin:0 auto;padding:0 1.5rem}
header{padding-top:1.75rem}
main{outline:0}
footer{padding-bottom:2rem;color:var(--dim)}
h1,h2,h3,h4,p,ul,ol{margin:0;padding:0}
ul,ol{list-style:none}
h1{font-size:1.9rem;line-height:1.2;letter-spacing:-.01em}
h2{font-size:1.2rem}h3{font-size:1.05rem}
a{color:var(--link)}
.dim,small,.count{color:var(--dim);font-weight:400}
small{font-size:.87em}
:focus-visible{outline:3px solid var(--focus);outline-offset:2px;border-radius:4px}
.skip{position:absolute;left:1rem;top:0;z-index:9;padding:.5rem 1rem;background:var(--card);color:var(--link);
clip-path:inset(50%);height:1px;overflow:hidden;white-space:nowrap}
.skip:focus{clip-path:none;height:auto;overflow:visible}
.defs{position:absolute}
.over{color:var(--dim);letter-spacing:.04em}
.title{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;margin:.15rem 0 .35rem}
.badge{display:inline-flex;align-items:center;gap:.4rem;padding:.15rem .8rem .15rem .5rem;border-radius:2rem;
font-weight:650;border:1.5px solid}
.badge.passed{color:var(--good);background:var(--good-tint)}
.badge.failed{color:var(--bad);background:var(--bad-tint)}
.badge.interrupted{color:var(--halt);background:var(--halt-tint)}
.clusters{display:flex;flex-wrap:wrap;gap:.5rem 1.25rem;margin-top:.75rem}
.clusters a{display:inline-flex;align-items:center;gap:.4rem;padding:.15rem 0}
.card{background:var(--card);border:1px solid var(--rule);border-radius:10px;margin:1rem 0;
padding:1rem 1.25rem}
.cluster{margin-top:1.25rem}
.cluster+.cluster{margin-top:3rem;border-top:2px solid var(--rule);padding-top:1.5rem}
.tiles{display:flex;flex-wrap:wrap;gap:1px;padding:0;overflow:hidden;
background:var(--rule)}
.tile{background:var(--card);padding:.8rem 1.25rem;flex:1 1 11rem}
.tile dt{color:var(--dim)}
.tile dd{margin:0;font-size:1.5rem;font-weight:650;line-height:1.25}
.tile dd small{display:block;font-size:.85rem;line-height:1.35}
.problem{padding:.55rem 0 .55rem 1rem;border-left:4px solid var(--bad);margin-top:.6rem}
.problem.warning{border-color:var(--halt)}
.problem p+p{margin-top:.15rem}
code,.name,.log,.place{font-family:ui-monospace,SFMono-Regular,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",
monospace;font-size:.9em}
.never li{display:grid;grid-template-columns:18px minmax(0,1fr);gap:.6rem;margin-top:.6rem}
.never svg{margin-top:.2rem}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;
margin:.5rem 0 .75rem;color:var(--dim);font-size:.87rem}
.legend li{display:inline-flex;gap:.45rem;align-items:center}
.legend svg{flex:none;overflow:visible}
.legend b{color:var(--ink);font-weight:600}
.line,.row>summary{display:grid;grid-template-columns:var(--left) minmax(0,1fr) var(--right);
column-gap:.75rem;align-items:center}
.line.when{position:sticky;top:0;z-index:2;background:var(--card);border-bottom:1px solid var(--rule)}
.plot{grid-column:2;min-width:0}
.line svg,.row svg{display:block}
.bar,.steps,.axis{overflow:visible}
.axis text,.scale text{font-size:11px;fill:var(--dim)}
.grid line{stroke:var(--grid)}
.row{border-bottom:1px solid var(--grid)}
.row>summary{cursor:pointer;list-style:none;padding:.3rem 0}
summary::-webkit-details-marker{display:none}
.row>summary:hover,.table>summary:hover{background:var(--page)}
.who{display:block;min-width:0;padding-left:1.1rem;position:relative;line-height:1.3}
.who::before,.table>summary::before{content:"";width:7px;height:7px;border:solid var(--dim);
border-width:0 2px 2px 0;transform:rotate(-45deg)}
.who::before{position:absolute;left:.1rem;top:.35rem}
[open]>summary .who::before,.table[open]>summary::before{transform:rotate(45deg)}
.who .name{display:block;font-weight:600}
.who small{display:block}
.row .icon{justify-self:start}
.more{padding:.35rem 0 .9rem 1.1rem}
.log{margin-top:.35rem;max-width:75rem}
.log li{display:grid;grid-template-columns:9.5rem minmax(0,1fr);gap:.75rem;padding:.1rem 0}
.log b{font-weight:600}
.at{color:var(--dim)}
rect.queued{fill:url(#p-queued);stroke:var(--queued)}rect.reserved{fill:url(#p-reserved);stroke:var(--reserved)}
rect.starting{fill:url(#p-starting);stroke:var(--starting)}rect.running{fill:var(--running)}
rect.restarting{fill:url(#p-restarting);stroke:var(--restarting)}
rect.borrowed{fill:url(#p-borrowed);stroke:var(--restarting)}
.p rect{fill:var(--card);stroke:none}
.p path{fill:none;stroke-width:1.5}
.p.queued path{stroke:var(--queued);stroke-width:1}
.p.starting path{stroke:var(--starting)}
.p.restarting path,.p.borrowed path{stroke:var(--restarting)}
.p.reserved circle{fill:var(--reserved)}
.mark{stroke:var(--card);stroke-width:1.25;paint-order:stroke}
.mark.evicted,.mark.failed,.mark.refused{fill:var(--bad)}
.mark.fault{fill:var(--halt)}
.mark.finished{fill:var(--good)}
.mark.restarted{fill:var(--card);stroke:var(--restarting);stroke-width:2.25}
.mark.refused{fill:var(--card);stroke:var(--bad);stroke-width:2}
.mark .stem{stroke:var(--ink);stroke-width:1.5}
.icon{fill:none;stroke:currentColor;stroke-width:1.6;stroke-linecap:round;stroke-linejoin:round;flex:none}
.icon.finished{color:var(--good)}.icon.failed,.icon.refused{color:var(--bad)}
.icon.waiting,.icon.notSubmitted{color:var(--halt)}.icon.running{color:var(--link)}
.badge .icon{color:inherit}
.outcome{display:inline-flex;gap:.4rem;align-items:center}
.usage{padding:.6rem 0;border-bottom:1px solid var(--grid)}
.usage .who{padding-left:0}.usage .who::before{display:none}
.usage:last-child,.row:last-child{border-bottom:0}
.steps path{fill:none;stroke-width:1.75;vector-effect:non-scaling-stroke}
.steps .area{fill:var(--area)}
.steps .used{stroke:var(--running)}
.steps .there{stroke:var(--there);stroke-dasharray:2 3;stroke-width:2}
.steps .base{stroke:var(--rule)}
.steps .limit{stroke:var(--limit);stroke-width:1.5;stroke-dasharray:7 4}
.keys svg line,.keys svg path{stroke-width:2}
.keys .k-used{fill:var(--area);stroke:var(--running)}
.keys .k-limit{stroke:var(--limit);stroke-dasharray:7 4}
.keys .k-there{stroke:var(--there);stroke-dasharray:2 3}
.table{background:var(--card);border:1px solid var(--rule);border-radius:10px;margin:1rem 0}
.table>summary{display:flex;align-items:center;gap:.75rem;cursor:pointer;list-style:none;
padding:.7rem 1.25rem;border-radius:10px}
.scroll{overflow-x:auto;padding:0 1.25rem 1rem}
table{border-collapse:collapse;width:100%;font-size:.92rem;overflow-wrap:normal}
th,td{text-align:left;vertical-align:top;padding:.35rem 1rem .35rem 0;border-top:1px solid var(--grid)}
thead th{border-top:0;color:var(--dim);font-weight:500;white-space:nowrap}
tbody th{font-weight:600;min-width:9rem;max-width:22rem;overflow-wrap:anywhere}
td{white-space:nowrap}
td ul,td:last-child{white-space:normal}
td ul{min-width:16rem;overflow-wrap:anywhere}
td strong{color:var(--bad)}
tbody small{display:block;font-weight:400}
@media(max-width:46rem){
header,main,footer{padding-left:.75rem;padding-right:.75rem}
h1{font-size:1.5rem}
.card{padding:.8rem .75rem}.tiles{padding:0}
.tile{padding:.6rem .75rem;flex-basis:8rem}
.tile dd{font-size:1.25rem}
.line,.row>summary{grid-template-columns:minmax(0,1fr) var(--right)}
.plot{grid-column:1}.who{grid-column:1/-1}
.log li{grid-template-columns:minmax(0,1fr);gap:0;padding:.2rem 0}
.table>summary{padding:.6rem .75rem}.scroll{padding:0 .75rem .75rem}
}
@media print{
body{background:#fff;font-size:10pt}
.skip,.who::before,.table>summary::before{display:none}
header,main,footer{max-width:none;padding:0}
.card,.table{break-inside:auto;border-color:#999}
.row,.usage,tr,.problem{break-inside:avoid}
.line.when{position:static}
h2,h3{break-after:avoid}
.scroll{overflow:visible}
table{font-size:8pt}td{white-space:normal}
.table::details-content{display:block;content-visibility:visible;height:auto}
svg,.badge,.tile{print-color-adjust:exact;-webkit-print-color-adjust:exact}
}
@media(forced-colors:active){svg{forced-color-adjust:none}.badge{border-color:CanvasText}}
"""
