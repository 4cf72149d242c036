"""The words that questions about failures have in common, and words that mean the same."""

from __future__ import annotations

import re

_EVERYDAY = """
a about across after again all also always an and any anyone anything are around as at be
because been before began begin being but by can cause caused causing could did do does doing
during each every everything for from get gets getting give given gives go goes going got had
happen happened happening happens has have having hello help hey hi how i if in into investigate
is it its just keep keeping keeps kept know last lately let look many may me minute more most
much my need new no not now of often on once only or our out over past please recent recently
run running runs said say see seem seems seen several she should show since so some someone
something sometimes start started starting starts still stop stopped such suddenly tell than
thanks that the their them then there these they thing this those time times to today too under
until up us very want was we were what whats when where which while who why will with without
wont would yesterday you your abnormal alarm alert bad break breaking broke broken bug cannot
cant crazy diagnose diagnosis doesnt dont down error errors fail failed failing fails failure
failures fault faulty fix incident issue issues isnt occur occurs odd outage problem problems
reason root strange throw throwing throws trouble weird work working works wrong am app
application apps customer customers day days hour hours log logs message messages minutes
morning night pm production service services system systems user users
full gone answer answered answering answers respond responding responds server servers host machine
site website
"""
GENERIC = frozenset(_EVERYDAY.split())
"""Lower-case English words that say nothing of what fails."""

GENERIC_CHINESE = re.compile(
    "请求|返回|调用|提示|显示|状态码|导致|引起"
    "|为什么|为何|怎么回事|怎么办|怎么样|怎么|什么|一直|总是|经常|突然|从|开始|左右|大约|大概"
    "|失败|报错|错误|异常|问题|故障|原因|根因|服务|系统|应用|今天|昨天|上午|下午|早上"
    "|晚上|凌晨|中午|现在|目前|最近|过去|请问|请|帮忙|帮我|帮|看看|看|排查|分析|诊断|定位"
    "|一下|出现|出了|发生|无法|不能|不了|不出|有没有|是不是|是否|告警|日志|用户|客户|以来"
    "|之后|之前|以后|以前|哪里|哪些|分钟|小时|的|了|是|在|有|吗|呢|吧|啊|都|也|和|与|我们"
    "|网站|页面|接口|打不开|不可用|不正常|不对|挂了|坏了|出错|情况|到底|究竟|查一下|查查"
    "|我|大量|很多|频繁|不断|点|半"
)
"""The same in Chinese, where words are not set apart."""

_MEANINGS = {
    "login": "login logon signin auth authenticate authentication password credential"
    " 登录 登陆 认证 鉴权 密码",
    "connection": "connect connection connectivity socket contact contacting unreachable refused"
    " 连接 连不上 网络",
    "timeout": "timeout timed timing latency slow slowness deadline 超时 缓慢 很慢 变慢 太慢 延迟",
    "memory": "memory heap oom outofmemory outofmemoryerror 内存",
    "disk": "disk volume filesystem storage space 磁盘 硬盘 空间",
    "processor": "cpu processor load 负载",
    "certificate": "certificate cert tls ssl x509 handshake 证书",
    "permission": "permission denied forbidden unauthorized unauthorised 权限 拒绝",
    "names": "dns resolve resolution hostname nxdomain 域名 解析",
    "queue": "queue backlog lag 队列 积压 堆积",
    "cache": "cache 缓存",
    "database": "database db sql jdbc mysql postgresql postgres 数据库",
    "replica": "replica replication 副本 复制",
    "crash": "crash restart kill killed die died dead segfault panic abort 崩溃 重启 宕机 被杀",
}
CONCEPTS = {name: frozenset(words.split()) for name, words in _MEANINGS.items()}
"""Words of operations by meaning: a question may say login where the log says authentication.

Latin words are compared as stems, Chinese ones as they stand.
"""

THINGS = frozenset(
    {"cache", "certificate", "database", "disk", "memory", "names", "processor", "queue", "replica"}
)
"""Concepts that name what fails; the others say how it does: "the database is slow"."""

_SAME_THING = """
结账 结帐 收银 = checkout cashier
结算 = checkout settlement
支付 付款 扣款 = pay payment charge
订单 下单 = order
购物车 = cart
退款 = refund
转账 = transfer
清算 = settlement clearing
发票 开票 = invoice
余额 = balance
账户 账号 = account
注册 = register registration signup
商品 = product item
价格 = price
库存 = inventory stock
仓库 = warehouse
优惠券 = coupon
会员 = member membership
物流 发货 配送 = shipping shipment
邮件 = mail email smtp
短信 = sms
通知 推送 = notification push
上传 = upload
下载 = download
导入 = import
导出 = export
搜索 检索 = search
备份 = backup
同步 = sync synchronization
任务 作业 = job task
调度 = scheduler schedule
报表 = report
图片 = image
视频 = video
网关 = gateway
节点 = node
容器 = container pod
集群 = cluster
索引 = index
线程 = thread
"""
_SIDES = [
    tuple(tuple(side.split()) for side in line.split("="))
    for line in _SAME_THING.strip().splitlines()
]
ENGLISH_OF = {chinese: english for known, english in _SIDES for chinese in known}
"""What a Chinese word for a thing is called in English logs."""

CHINESE_OF = {
    english: tuple(word for chinese, known in _SIDES if english in known for word in chinese)
    for _, others in _SIDES
    for english in others
}
"""The same the other way round."""
