"""The look of the page, and the few lines of script that show a curve's values: no other resource is needed."""

from __future__ import annotations

CSS = """
:root{color-scheme:light dark;--bg:#f7f7f5;--card:#fff;--ink:#1d2126;--soft:#5d6670;--line:#e3e5e8;--c0:#2563c9;
--c1:#d9630b;--c2:#13866a;--c3:#8a4fc4;--good:#13866a;--bad:#c8321f;--warn:#a86a00;--strong:#fff}
@media (prefers-color-scheme:dark){:root{--bg:#14171a;--card:#1c2024;--ink:#e6e8ea;--soft:#98a1ab;--line:#30363c;
--c0:#6ea4f7;--c1:#f0934b;--c2:#45c2a0;--c3:#bd92ec;--good:#45c2a0;--bad:#f2745f;--warn:#e0a94a;--strong:#10131a}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main,header,nav{max-width:1180px;margin:0 auto;padding:0 24px}
header{padding-top:32px}h1{font-size:27px;line-height:1.2;margin:0 10px 0 0;display:inline}
h2{font-size:19px;margin:36px 0 12px}h3{font-size:15px;margin:22px 0 10px}
a{color:var(--c0)}:focus-visible{outline:2px solid var(--c0);outline-offset:2px;border-radius:4px}
.muted{color:var(--soft)}.small{font-size:13px}code,.mono{font:13px/1.4 ui-monospace,SFMono-Regular,Menlo,monospace}
nav{position:sticky;top:0;z-index:2;background:var(--bg);padding-top:10px;padding-bottom:10px;display:flex;
flex-wrap:wrap;gap:4px 18px;border-bottom:1px solid var(--line);margin-top:20px}
nav a{text-decoration:none;color:var(--soft)}
nav a:hover{color:var(--c0)}section{scroll-margin-top:50px}
.badge{display:inline-block;padding:1px 9px;border-radius:99px;font-size:12.5px;font-weight:600;border:1px solid;
white-space:nowrap;vertical-align:3px}.finished,.badge.user{color:var(--good)}.failed,.error{color:var(--bad)}
.stopped,.unfinished,.warning{color:var(--warn)}.advice,.derived{color:var(--c0)}.default{color:var(--soft)}
td .badge{vertical-align:0}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(165px,1fr));gap:12px;margin-top:20px}
.tile,.card,figure.chart,.finding{background:var(--card);border:1px solid var(--line);border-radius:10px}
.tile{padding:12px 16px}.tile b{display:block;white-space:nowrap;font-size:23px;font-weight:650;line-height:1.25;
font-variant-numeric:tabular-nums}.tile.main{grid-column:span 2}.tile.main b{font-size:31px;color:var(--c0)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(460px,100%),1fr));gap:14px}
figure.chart{margin:0;padding:12px 12px 4px;position:relative;min-width:0}
figcaption{display:flex;flex-wrap:wrap;gap:2px 14px;justify-content:space-between;font-weight:600;padding:0 4px 6px}
.legend{font-weight:400;font-size:13px;color:var(--soft);display:flex;flex-wrap:wrap;gap:0 14px}
.legend i{display:inline-block;width:14px;height:3px;border-radius:2px;margin-right:6px;vertical-align:3px}
.legend .dashed{border-top:2px dashed var(--soft);height:0}
svg{display:block;width:100%;height:auto}svg text{font-family:inherit}
.grid{stroke:var(--line)}.tick{fill:var(--soft);font-size:11.5px;font-variant-numeric:tabular-nums}
.line{fill:none;stroke-width:1.8;stroke-linejoin:round}.band{opacity:.17}.dot{stroke-width:5.5;stroke-linecap:round}
path.line.c0,path.dot.c0{stroke:var(--c0)}path.line.c1,path.dot.c1{stroke:var(--c1)}
path.line.c2,path.dot.c2{stroke:var(--c2)}path.line.c3,path.dot.c3{stroke:var(--c3)}
.band.c0{fill:var(--c0)}.band.c1{fill:var(--c1)}.band.c2{fill:var(--c2)}.band.c3{fill:var(--c3)}
i.c0{background:var(--c0)}i.c1{background:var(--c1)}i.c2{background:var(--c2)}i.c3{background:var(--c3)}
.mark{stroke:var(--soft);stroke-dasharray:4 4;stroke-width:1.2;fill:none}.cursor{stroke:var(--soft);visibility:hidden}
.dots{stroke:var(--c0);stroke-width:4.5;stroke-linecap:round;opacity:.38;fill:none}.bar{fill:var(--c0)}
.tip{position:absolute;pointer-events:none;background:var(--ink);color:var(--bg);border-radius:6px;padding:4px 9px;
font-size:12.5px;white-space:pre;line-height:1.4;opacity:.94;font-variant-numeric:tabular-nums;z-index:1}
.card{padding:14px 16px;overflow-x:auto}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(420px,100%),1fr));gap:14px;align-items:start}
.heat .right{fill:var(--c0)}.heat .wrong{fill:var(--c1)}.heat .none{fill:var(--line);fill-opacity:.35}
.heat .count{font-size:12px;text-anchor:middle;fill:var(--ink)}.heat .count.strong{fill:var(--strong)}
table{border-collapse:collapse;width:100%;font-size:14px}th{text-align:left;color:var(--soft);font-weight:600;
font-size:12.5px}th,td{padding:6px 12px 6px 0;border-bottom:1px solid var(--line);vertical-align:top}
tr:last-child td{border-bottom:0}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td.wrap{overflow-wrap:break-word}td.name{white-space:nowrap}.meter{display:inline-block;width:64px;height:6px;border-radius:3px;background:var(--line);
margin-left:9px;vertical-align:2px}.meter i{display:block;height:100%;border-radius:3px;background:var(--c0)}
.shown{display:grid;grid-template-columns:repeat(auto-fill,minmax(156px,1fr));gap:10px}
.shown.text{grid-template-columns:repeat(auto-fill,minmax(min(340px,100%),1fr))}
.shown div.ex{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:10px;font-size:13px;
overflow-wrap:anywhere;min-width:0}
.shown img{display:block;height:96px;max-width:100%;object-fit:contain;margin:0 auto 8px;
border-radius:4px}.shown .quote{margin:0 0 8px;display:-webkit-box;-webkit-line-clamp:5;-webkit-box-orient:vertical;
overflow:hidden}.said{font-weight:650}.said.bad{color:var(--bad)}.said.good{color:var(--good)}
.finding{padding:12px 16px;margin-bottom:10px;border-left:4px solid currentColor}.finding>*{color:var(--ink)}
.finding .proof{max-width:540px;margin:10px 0 6px}.finding p{margin:4px 0}.finding .muted{color:var(--soft)}
summary{cursor:pointer;color:var(--soft)}.gaps{margin-top:24px;border-left:4px solid var(--warn)}
.gaps ul{margin:4px 0;padding-left:20px}
footer{max-width:1180px;margin:40px auto 0;padding:16px 24px 40px;color:var(--soft);font-size:13px;
border-top:1px solid var(--line)}
@media print{:root{--bg:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#ccc}nav{display:none}body{font-size:12px}
.charts{grid-template-columns:1fr 1fr}figure.chart,.finding,.ex,tr{break-inside:avoid}h2,h3{break-after:avoid}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""

# With a pointer or the arrow keys, shows what every curve of a chart says at a step.
SCRIPT = """
for(const svg of document.querySelectorAll('svg[data-points]')){
const all=JSON.parse(svg.dataset.points),box=svg.parentNode,cursor=svg.querySelector('.cursor');
const xs=[...new Set(all.flatMap(c=>c.p.map(p=>p[0])))].sort((a,b)=>a-b);let at=-1,tip=null;
const near=(list,x,of)=>list.reduce((a,b)=>Math.abs(of(b)-x)<Math.abs(of(a)-x)?b:a);
const show=x=>{at=xs.indexOf(x);const here=all.map(c=>[c.n,near(c.p,x,p=>p[0])]);
const step=near(here.map(h=>h[1]),x,p=>p[0])[2];
cursor.setAttribute('x1',x);cursor.setAttribute('x2',x);cursor.style.visibility='visible';
if(!tip){tip=document.createElement('div');tip.className='tip';tip.setAttribute('role','status');box.append(tip)}
tip.textContent='step '+step.toLocaleString('en')+'\\n'+
here.map(h=>h[0]+' '+h[1][3]+(h[1][2]===step?'':' (step '+h[1][2].toLocaleString('en')+')')).join('\\n');
const px=svg.getBoundingClientRect().width*x/svg.viewBox.baseVal.width+12,wide=tip.offsetWidth;
tip.style.left=(px+wide+18<box.clientWidth?px+10:Math.max(4,px-wide-10))+'px';
tip.style.top=(svg.offsetTop||box.querySelector('figcaption').offsetHeight+12)+'px'};
const hide=()=>{cursor.style.visibility='hidden';if(tip){tip.remove();tip=null}at=-1};
svg.addEventListener('pointermove',e=>{const r=svg.getBoundingClientRect();
show(near(xs,(e.clientX-r.left)/r.width*svg.viewBox.baseVal.width,v=>v))});
svg.addEventListener('pointerleave',hide);svg.addEventListener('blur',hide);
svg.addEventListener('keydown',e=>{const d={ArrowLeft:-1,ArrowRight:1,Home:-1e9,End:1e9}[e.key];
if(e.key==='Escape')hide();if(d===undefined)return;e.preventDefault();
show(xs[Math.max(0,Math.min(xs.length-1,at<0&&d>0&&d<2?0:at+d))])})}
"""
